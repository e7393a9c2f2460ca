// What timestamps of a GPU tell. They are nanoseconds, in pairs: when a compute pass began, and when it ended.

/** Milliseconds that passes took together; null where the clock went backwards, as drivers let it when they reset. */
export function busyMs(stamps) {
  let sum = 0n;
  for (let i = 0; i + 1 < stamps.length; i += 2) {
    if (stamps[i + 1] < stamps[i]) return null;
    sum += stamps[i + 1] - stamps[i];
  }
  return Number(sum) / 1e6;
}

/** The step of a clock, in nanoseconds: what divides all that it told. Browsers coarsen it; 0 is unknown. */
export function stepOf(stamps) {
  let step = 0n;
  for (let other of stamps) while (other) [step, other] = [other, step % other];
  return step;
}
