/** Numbers for people: three significant digits, with units. */

const THIN_BLANK = "\u2009";

/** As many digits after the point as asked for. Of two equally near numbers the one with an even last digit, as Rust prints. */
function fixed(value: number, decimals: number): string {
  const below = Math.floor(value * 10 ** decimals);
  // Half-way numbers are exact only if the power of five divides.
  const isTie = value * 10 ** decimals - below === 0.5 && (2 * below + 1) % 5 ** decimals === 0;
  return isTie && below % 2 === 0 ? (below / 10 ** decimals).toFixed(decimals) : value.toFixed(decimals);
}

/** At least three significant digits of a value that is not negative; digits before the point are never cut. */
export function number(value: number): string {
  if (!Number.isFinite(value) || Math.abs(value) < 0.5e-12) return "0";
  const decimalsFor = (v: number) => Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v)))));
  // Rounding may carry into one more digit: 9.996 is 10.0, not 10.00.
  const rounded = Number(fixed(value, decimalsFor(value)));
  return fixed(rounded, decimalsFor(rounded));
}

/** Three significant digits without needless zeros, in groups; digits before the point are never cut. */
export function significant(value: number): string {
  if (!Number.isFinite(value) || value === 0) return "0";
  // Rounding may carry into one more digit, so it comes first: 9.996 is 10.
  const rounded = Number(value.toPrecision(3));
  if (Math.abs(rounded) >= 1000) return grouped(Math.round(value).toString());
  const decimals = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded)))));
  const text = rounded.toFixed(decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, THIN_BLANK);
}

type Units = readonly (readonly [factor: number, unit: string])[];

/** The greatest unit in which the value does not read as less than one, of units each of which starts at a part of itself. */
function unitOf(size: number, units: Units, part: number): readonly [factor: number, unit: string] {
  return units.find(([least]) => size >= least * part) ?? units[units.length - 1] ?? [1, ""];
}

const sign = (value: number) => (value < 0 ? "−" : "");

/** A value with its unit, without needless zeros: 999.9 µs is `1 ms`. */
function inUnits(value: number, units: Units): string {
  const [factor, unit] = unitOf(Math.abs(value), units, 0.9995);
  return `${sign(value)}${significant(Math.abs(value) / factor)} ${unit}`;
}

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]] as const;
const BYTES = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]] as const;
const RATES = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]] as const;

/** A duration: `90.0 µs`, `1.20 ms`, `0 s`. */
export function duration(ns: number): string {
  const [factor, unit] = unitOf(Math.abs(ns), TIMES, 0.9995);
  const value = Math.abs(ns) / factor;
  if (ns === 0) return "0 s";
  if (factor === 1 && Number.isInteger(value)) return `${sign(ns)}${value} ns`;
  return `${sign(ns)}${value >= 1000 ? count(value) : number(value)} ${unit}`;
}

/** A duration without needless zeros, for ticks: `90 µs`, `0`. */
export function plainDuration(ns: number): string {
  return ns === 0 ? "0" : inUnits(ns, TIMES);
}

/** Hundredths of a second. */
const MOMENT_STEP_NS = 1e7;

/**
 * A point in time on the run's clock: `65.03 s`, from an hour on `1:05:03`. A finer step than hundredths of a second gives
 * more digits.
 */
export function moment(ns: number, stepNs: number = MOMENT_STEP_NS): string {
  if (ns < 0) return `−${moment(-ns, stepNs)}`;
  const decimals = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(1, stepNs)) + 1e-9)));
  const long = ns >= 3600e9;
  // Beyond an hour hundredths are wanted only where the step asks for them.
  const shown = long && stepNs >= MOMENT_STEP_NS ? 0 : decimals;
  const unit = 10 ** shown;
  const units = Math.round((ns / 1e9) * unit);
  if (!long) return `${trimmed((units / unit).toFixed(shown), stepNs)} s`;
  const [whole, part] = [Math.floor(units / unit), Math.round(units % unit)];
  const two = (n: number) => n.toString().padStart(2, "0");
  const clock = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return shown > 0 && part > 0 ? `${clock}.${part.toString().padStart(shown, "0")}` : clock;
}

/** Only zero itself goes without digits after the point: equal digits make moments comparable. */
function trimmed(seconds: string, stepNs: number): string {
  return Number(seconds) === 0 && stepNs >= MOMENT_STEP_NS ? "0" : seconds;
}

/** Bytes in binary units: `64.0 KiB`. */
export function bytes(n: number): string {
  const size = Math.abs(n);
  const [factor, unit] = unitOf(size, BYTES, 1);
  return `${sign(n)}${factor === 1 && Number.isInteger(size) ? size : number(size / factor)} ${unit}`;
}

/** Bytes without needless zeros, for ticks and for sizes that are exact: `64 KiB`. */
export function plainBytes(n: number): string {
  return inUnits(n, BYTES);
}

/** Bytes per second in decimal units, as data sheets give them: `38.0 MB/s`. */
export function byteRate(bytesPerSecond: number): string {
  const [factor, unit] = unitOf(Math.abs(bytesPerSecond), RATES, 0.9995);
  return `${sign(bytesPerSecond)}${number(Math.abs(bytesPerSecond) / factor)} ${unit}`;
}

/** Bytes per second without needless zeros, for ticks: `38 MB/s`. */
export function plainByteRate(bytesPerSecond: number): string {
  return inUnits(bytesPerSecond, RATES);
}

/** A count in groups of three digits. */
export function count(n: number): string {
  const text = grouped(Math.abs(Math.round(n)).toString());
  return n < 0 ? `−${text}` : text;
}

/** `1 request`, `2 requests`. */
export function counted(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** A number for narrow places: `4.9k`. */
export function short(n: number): string {
  if (Math.abs(n) < 999.5) return `${n < 0 ? "−" : ""}${significant(Math.abs(n))}`;
  return inUnits(n, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]).replace(" ", "");
}

/** A share, 0 to 1. What is not zero never reads as zero, what is not all never as 100 %. */
export function percent(share: number): string {
  return share === 0 ? "0 %" : inPercent(share, number);
}

/** A share without needless zeros, for ticks. */
export function plainPercent(share: number): string {
  return inPercent(share, significant);
}

function inPercent(share: number, format: (value: number) => string): string {
  const size = Math.abs(share) * 100;
  if (size > 0 && size < 0.01) return "< 0.01 %";
  if (size < 100 && size > 99.95) return "> 99.9 %";
  return `${sign(share)}${format(size)} %`;
}
