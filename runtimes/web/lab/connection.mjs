// The way to the lab: one socket, made again when it is lost.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const STOPPED = 1001; // the lab says that it is going away

/** Keeps a socket to the lab. `on` hears messages by kind, and also `connected` and `lost`. */
export class Connection {
  #on;
  #socket;
  #wait = FIRST_WAIT_MS;
  #timer;

  constructor(on) {
    this.#on = on;
  }

  /** Connects now, whatever was planned for later. */
  connect() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
    this.#socket = socket;
    socket.onopen = () => this.#on.connected();
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      this.#wait = FIRST_WAIT_MS; // it is a lab, and it speaks
      this.#on[message.kind]?.(message);
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.#socket) return;
      this.#on.lost(code === STOPPED);
      this.#timer = setTimeout(() => this.connect(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT_MS);
    };
  }

  /** Says something to the lab; false where there is no connection. */
  say(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }
}
