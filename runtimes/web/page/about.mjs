// What the page knows of the browser that it is in.

const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupStorageSize",
  "maxComputeWorkgroupsPerDimension",
];

/** The device of WebNN where none is named: the one that every browser with WebNN has. */
export const WEBNN_DEVICE = "cpu";

/** What is known at once. */
export function hello() {
  return {
    user_agent: navigator.userAgent,
    isolated: globalThis.crossOriginIsolated === true,
    cores: navigator.hardwareConcurrency ?? null,
    jspi: "Suspending" in WebAssembly,
    webgpu: "gpu" in navigator,
    webnn: "ml" in navigator,
  };
}

/** The WebGPU adapter, or null where there is none. */
export async function adapter() {
  const found = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!found) return null;
  const info = found.info ?? {};
  return {
    vendor: info.vendor ?? "",
    architecture: info.architecture ?? "",
    device: info.device ?? "",
    description: info.description ?? "",
    fallback: (info.isFallbackAdapter ?? found.isFallbackAdapter) === true,
    features: [...found.features].sort(),
    limits: Object.fromEntries(LIMITS.map((name) => [name, Number(found.limits[name])])),
  };
}

/** What the device of a session was opened with: kernels use what they know of it. Null where it is not told. */
export async function deviceFeatures(env) {
  const device = await env.webgpu?.device;
  return device ? [...device.features].sort() : null;
}

// What a platform says that it can compute in or with, and how much at once; null where it has no limits of its own.
const FEATURES = {
  webgpu: async () => {
    const found = await adapter();
    return { features: found?.features ?? [], limits: found?.limits ?? null };
  },
  webnn: async (deviceType) => {
    const context = await navigator.ml?.createContext({ deviceType: deviceType || WEBNN_DEVICE });
    const found = context?.opSupportLimits().input.dataTypes ?? [];
    context?.destroy?.();
    return { features: found, limits: null };
  },
  cpu: async () => ({ features: [], limits: null }),
};

/** The features of a platform, before anything is made for it. */
export const features = ({ platform, device }) => FEATURES[platform](device);

/** The JavaScript heap in use, where the browser tells it. */
export const heapBytes = () => performance.memory?.usedJSHeapSize ?? null;
