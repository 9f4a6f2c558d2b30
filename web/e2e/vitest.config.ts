import { defineConfig } from "vitest/config";

// One browser at a time: two would fight for the machine, and frames would wait.
export default defineConfig({
  test: { dir: "e2e", include: ["**/*.test.ts"], testTimeout: 90_000, hookTimeout: 90_000, fileParallelism: false },
});
