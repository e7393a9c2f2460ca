// Whether the page is in view. Browsers slow hidden pages down, so that times taken there say little.

let hidden = document.hidden;
document.addEventListener("visibilitychange", () => (hidden ||= document.hidden));

/** Does a piece of work, and adds to what it tells whether the page was hidden at any time meanwhile. */
export async function watched(work) {
  hidden = document.hidden;
  const told = await work();
  return { ...told, hidden };
}
