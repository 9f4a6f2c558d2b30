/** The state of a run, as the server describes it. */

/** Of the newest page that there is; times are nanoseconds on the clock of the run. */
export interface RunState {
  readonly version: number;
  readonly is_growing: boolean;
  readonly from_ns: number;
  readonly to_ns: number;
  readonly requests: number;
  readonly all_requests: number;
}

/** The state `now` in words, and what the page that is shown covers: its figures are those of its part of the run. */
export function words(now: RunState, shown: RunState): string {
  const { from_ns, to_ns, requests, all_requests } = shown;
  const time = to_ns === now.to_ns ? clock(now.to_ns) : `${clock(now.to_ns)}, shown up to ${clock(to_ns)}`;
  const run = now.is_growing ? "running" : "ended";
  const of = from_ns > 0 ? `all figures are of the last ${duration(to_ns - from_ns)}` : "shown from its start";
  const part = requests < all_requests ? `${requests} of ${all_requests} requests` : `${requests} requests`;
  return `${run} · ${time} · ${of}, ${part}`;
}

function duration(ns: number): string {
  return ns < 1e8 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(1)} s`;
}

/** Hours if there are any, minutes and seconds. */
function clock(ns: number): string {
  const s = Math.floor(ns / 1e9);
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = s >= 3600 ? `${Math.floor(s / 3600)}:` : "";
  return `${hours}${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
