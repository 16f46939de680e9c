// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/cloudwego/eino/compose"
)

var background = context.Background()
var started = time.Now()

func setCores(n int) { runtime.GOMAXPROCS(n) }

func addOne(_ context.Context, n int) (int, error) { return n + 1, nil }

// makeChain builds START -> n0 -> … -> n(K-1) -> END. A value flows along the edges: Eino has no shared state with
// one value per key and step.
func makeChain(length int) compose.Runnable[int, int] {
	g := compose.NewGraph[int, int]()
	last := compose.START
	for i := range length {
		name := fmt.Sprintf("n%d", i)
		check(g.AddLambdaNode(name, compose.InvokableLambda(addOne)))
		check(g.AddEdge(last, name))
		last = name
	}
	check(g.AddEdge(last, compose.END))
	out, err := g.Compile(background, compose.WithMaxRunSteps(length+10))
	check(err)
	return out
}

func makeLoop(steps int) compose.Runnable[int, int] {
	g := compose.NewGraph[int, int]()
	check(g.AddLambdaNode("a", compose.InvokableLambda(addOne)))
	check(g.AddLambdaNode("b", compose.InvokableLambda(addOne)))
	check(g.AddEdge(compose.START, "a"))
	check(g.AddEdge("a", "b"))
	next := func(_ context.Context, n int) (string, error) {
		if n < steps {
			return "a", nil
		}
		return compose.END, nil
	}
	check(g.AddBranch("b", compose.NewGraphBranch(next, map[string]bool{"a": true, compose.END: true})))
	out, err := g.Compile(background, compose.WithMaxRunSteps(steps+10))
	check(err)
	return out
}

func measureCounter(r *report, graph compose.Runnable[int, int], expected, runs, reps int) *report {
	_, err := graph.Invoke(background, 0)
	check(err)
	r.measure(reps, func() {
		for range runs {
			n, err := graph.Invoke(background, 0)
			check(err)
			expect(n == expected, n)
		}
	})
	r.checks["n"] = expected
	return r
}

func sequential(p *parameters) *report {
	length, runs, reps := p.integer("K", 10), p.integer("runs", 1), p.integer("reps", 3)
	p.done()
	return measureCounter(newReport("super-step", length*runs), makeChain(length), length, runs, reps)
}

func loop(p *parameters) *report {
	steps, runs, reps := p.integer("S", 1000), p.integer("runs", 1), p.integer("reps", 3)
	p.done()
	return measureCounter(newReport("super-step", steps*runs), makeLoop(steps), steps, runs, reps)
}

func chain3(p *parameters) *report {
	runs, reps := p.integer("runs", 20000), p.integer("reps", 3)
	p.done()
	return measureCounter(newReport("run", runs), makeChain(3), 3, runs, reps)
}

// fan5 merges the maps of five nodes, as Eino does without configuration, and sums them in the join.
func fan5(p *parameters) *report {
	runs, reps := p.integer("runs", 20000), p.integer("reps", 3)
	p.done()
	g := compose.NewGraph[int, int]()
	check(g.AddLambdaNode("join", compose.InvokableLambda(func(_ context.Context, in map[string]any) (int, error) {
		total := 0
		for _, one := range in {
			total += one.(int)
		}
		return total, nil
	})))
	for i := range 5 {
		name := fmt.Sprintf("one%d", i)
		one := func(context.Context, int) (int, error) { return 1, nil }
		check(g.AddLambdaNode(name, compose.InvokableLambda(one), compose.WithOutputKey(name)))
		check(g.AddEdge(compose.START, name))
		check(g.AddEdge(name, "join"))
	}
	check(g.AddEdge("join", compose.END))
	graph, err := g.Compile(background, compose.WithNodeTriggerMode(compose.AllPredecessor))
	check(err)
	r := newReport("run", runs)
	r.measure(reps, func() {
		for range runs {
			total, err := graph.Invoke(background, 0)
			check(err)
			expect(total == 5, total)
		}
	})
	r.checks["total"] = 5
	return r
}

func startUp(p *parameters) *report {
	p.done()
	loaded := cpuSeconds()
	n, err := makeChain(1).Invoke(background, 0)
	check(err)
	r := newReport("process", 1)
	r.add(time.Since(started).Seconds(), cpuSeconds())
	r.checks["n"] = n
	r.extra["import_s"] = loaded
	r.extra["rss_kb"] = usage().Maxrss
	return r
}
