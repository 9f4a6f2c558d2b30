/** All small charts, in their order on the page. */

import type { SmallChart } from "./chart";
import { FREQUENCY } from "./frequency";
import { HEALTH } from "./health";
import { MISS_RATIO } from "./miss-ratio";
import { PARTS } from "./parts";
import { PASSES } from "./passes";
import { PERCENTILES } from "./percentiles";
import { RATIOS } from "./ratios";
import { DELAY_WAITING, LATENCY_DELAY, LATENCY_IN_FLIGHT, PAIRS } from "./relation";
import { SIZES } from "./sizes";

export const SMALL_CHARTS: readonly SmallChart[] = [
  PERCENTILES,
  MISS_RATIO,
  LATENCY_IN_FLIGHT,
  SIZES,
  FREQUENCY,
  LATENCY_DELAY,
  DELAY_WAITING,
  PASSES,
  PARTS,
  HEALTH,
  RATIOS,
  PAIRS,
];
