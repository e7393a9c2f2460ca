// What this browser says about its machine. What it does not reveal stays empty.

const HINTS = ["architecture", "bitness", "model", "platformVersion", "fullVersionList"];

/** The answer of browsers that have client hints; an empty object of the others, and of those that refuse. */
async function hints() {
  try {
    return (await navigator.userAgentData?.getHighEntropyValues(HINTS)) ?? {};
  } catch {
    return {};
  }
}

/** Everything that the lab wants to know about the machine. */
export async function about() {
  const told = await hints();
  return {
    user_agent: navigator.userAgent,
    brands: told.fullVersionList ?? navigator.userAgentData?.brands ?? [],
    platform: navigator.userAgentData?.platform ?? "",
    platform_version: told.platformVersion ?? "",
    architecture: told.architecture ?? "",
    bitness: told.bitness ?? "",
    model: told.model ?? "",
    cores: navigator.hardwareConcurrency ?? null,
    memory_gb: navigator.deviceMemory ?? null,
    touch_points: navigator.maxTouchPoints ?? 0,
    screen: { width: screen.width, height: screen.height, ratio: devicePixelRatio },
    secure: isSecureContext,
  };
}
