// Frames in which other pages of the lab run: the one that asks the browser what it can do, and a fresh one for each model.

const frames = new Map();

/** Opens a page of the lab in a fresh frame. It is there, and too small to see: what is not shown is slowed down. */
export function openFrame(id, path) {
  closeFrame(id);
  const frame = document.createElement("iframe");
  frame.className = "frame";
  frame.title = "the page that runs a model";
  frame.tabIndex = -1;
  frame.ariaHidden = "true";
  frame.src = path;
  frames.set(id, frame);
  document.body.append(frame);
}

/** Removes a frame, and with it what its page held. */
export function closeFrame(id) {
  frames.get(id)?.remove();
  frames.delete(id);
}

/** Removes all frames. */
export function closeFrames() {
  for (const id of [...frames.keys()]) closeFrame(id);
}
