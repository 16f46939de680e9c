// SPDX-License-Identifier: Apache-2.0

// Runs a workload of superstep-bench with Eino and prints the same line of JSON.
//
//	eino WORKLOAD key=value …
//
// Exit code: 0 measured, 1 wrong result or parameter, 3 a workload that Eino cannot express. Eino has no Sends, no
// super-steps that merge writes by reducers, and no checkpoint per step.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type parameters struct {
	given     map[string]string
	effective map[string]any
}

func newParameters(words []string) *parameters {
	p := &parameters{given: map[string]string{}, effective: map[string]any{}}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		p.given[key] = value
	}
	delete(p.given, "mode") // there is one engine
	return p
}

func (p *parameters) text(key, fallback string) string {
	value, found := p.given[key]
	if !found {
		value = fallback
	}
	delete(p.given, key)
	p.effective[key] = value
	return value
}

func (p *parameters) integer(key string, fallback int) int {
	n, err := strconv.Atoi(p.text(key, strconv.Itoa(fallback)))
	check(err)
	p.effective[key] = n
	return n
}

func (p *parameters) done() {
	for key := range p.given {
		check(fmt.Errorf("unknown parameter %s", key))
	}
}

type report struct {
	unit                 string
	units                int
	seconds, cpu, cpuMin float64
	extra, checks        map[string]any
}

func newReport(unit string, units int) *report {
	return &report{unit: unit, units: units, seconds: 1e300, cpuMin: 1e300, extra: map[string]any{}, checks: map[string]any{}}
}

func usage() syscall.Rusage {
	var out syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &out))
	return out
}

func cpuSeconds() float64 {
	used := usage()
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func (r *report) add(wall, cpu float64) {
	r.cpuMin = min(r.cpuMin, cpu)
	if wall < r.seconds {
		r.seconds, r.cpu = wall, cpu
	}
}

// measure calls once several times and measures each call.
func (r *report) measure(repetitions int, once func()) {
	for range repetitions {
		cpu, wall := cpuSeconds(), time.Now()
		once()
		r.add(time.Since(wall).Seconds(), cpuSeconds()-cpu)
	}
}

// check ends the program if something failed.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "eino:", err)
		os.Exit(1)
	}
}

// expect ends the program if a result is wrong: its time would be meaningless.
func expect(right bool, what any) {
	if !right {
		check(fmt.Errorf("wrong result: %v", what))
	}
}

func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return strings.TrimPrefix(one.Version, "v")
			}
		}
	}
	return "unknown"
}

var workloads = map[string]func(*parameters) *report{
	"W1": sequential, "W3": loop, "W4": reactAgent, "W7": batch, "W10": streaming, "W12": startUp, "W13": modelHTTP,
	"chain3": chain3, "fan5": fan5,
}

func main() {
	if len(os.Args) < 2 || workloads[os.Args[1]] == nil {
		os.Exit(3)
	}
	p := newParameters(os.Args[2:])
	if workers := p.integer("workers", 0); workers > 0 {
		setCores(workers)
	}
	r := workloads[os.Args[1]](p)
	line := map[string]any{
		"workload": os.Args[1], "params": p.effective, "peer": "eino",
		"version": versionOf("github.com/cloudwego/eino"), "seconds": r.seconds, "unit": r.unit, "units": r.units,
		"per_unit": r.seconds / float64(r.units), "peak_rss_kb": usage().Maxrss, "cpu_seconds": r.cpu,
		"cpu_seconds_min": r.cpuMin, "checks": r.checks,
	}
	for key, value := range r.extra {
		line[key] = value
	}
	text, err := json.Marshal(line)
	check(err)
	fmt.Println(string(text))
}
