// SPDX-License-Identifier: Apache-2.0
// Parameters, time measurement and checks of the workloads.

export const cpuSeconds = () => {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1e6;
};

export class Parameters {
  constructor(words) {
    this.given = new Map(words.map((word) => word.split(/=(.*)/s).slice(0, 2)));
    this.effective = {};
    this.given.delete("mode"); // there is one engine
    this.given.delete("workers");
  }
  text(key, fallback) {
    const value = this.given.get(key) ?? fallback;
    this.given.delete(key);
    return (this.effective[key] = value);
  }
  integer(key, fallback) {
    return (this.effective[key] = Number(this.text(key, fallback)));
  }
  done() {
    if (this.given.size > 0) throw new Error(`unknown parameters ${[...this.given.keys()]}`);
  }
}

export class Report {
  constructor(unit, units, checks = {}) {
    Object.assign(this, { unit, units, checks, extra: {}, seconds: Infinity, cpu: 0, cpuMin: Infinity });
  }
  add(wall, cpu) {
    this.cpuMin = Math.min(this.cpuMin, cpu);
    if (wall < this.seconds) [this.seconds, this.cpu] = [wall, cpu];
  }
  /** Measures `once` several times and returns the last result. */
  async measure(repetitions, once) {
    let result;
    for (let i = 0; i < repetitions; ++i) {
      const wall = performance.now();
      const cpu = cpuSeconds();
      result = await once();
      this.add((performance.now() - wall) / 1e3, cpuSeconds() - cpu);
    }
    return result;
  }
}

/** Throws if a result is wrong: its time would be meaningless. */
export function expect(right, what) {
  if (!right) throw new Error(`wrong result: ${what}`);
}
