// Why WebNN refuses a graph. ONNX Runtime's WebAssembly cannot hold what MLGraphBuilder throws: it only says that it
// stopped. So the builder's methods are watched while a session is made.

let refused = "";

const told = (name, error) => {
  refused = `WebNN's ${name}: ${error?.message ?? error}`;
  throw error;
};

function watched(name, original) {
  return function (...values) {
    try {
      const result = original.apply(this, values);
      return result instanceof Promise ? result.catch((error) => told(name, error)) : result;
    } catch (error) {
      return told(name, error);
    }
  };
}

/** Watches the builder's methods; where there is no WebNN it does nothing. */
export function watch() {
  const methods = globalThis.MLGraphBuilder?.prototype;
  for (const name of methods ? Object.getOwnPropertyNames(methods) : []) {
    const { value } = Object.getOwnPropertyDescriptor(methods, name);
    if (typeof value === "function" && name !== "constructor") methods[name] = watched(name, value);
  }
}

/** What the builder refused since the last time that it was asked, "" for nothing. */
export function lastRefusal() {
  const told = refused;
  refused = "";
  return told;
}
