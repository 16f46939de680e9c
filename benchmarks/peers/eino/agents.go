// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

const largeQuery = 3600

// scripted calls `echo` in each of its rounds, then returns a text about its input.
type scripted struct {
	rounds, calls int
	large         bool
	// seen, if set, receives the final messages: Eino's agent returns only the last one.
	seen func([]*schema.Message)
}

func (s *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

func (s *scripted) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, in)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

func (s *scripted) query(name string) string {
	if !s.large {
		return name
	}
	return strings.Repeat(name, largeQuery/len(name)+1)[:largeQuery]
}

func (s *scripted) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	humans, answers, results := 0, 0, 0
	for _, one := range in {
		switch one.Role {
		case schema.User:
			humans++
			answers = 0
		case schema.Assistant:
			answers++
		case schema.Tool:
			results++
		}
	}
	if answers >= s.rounds {
		out := schema.AssistantMessage(fmt.Sprintf("done %d %d", humans, results), nil)
		if s.seen != nil {
			s.seen(append(in[:len(in):len(in)], out))
		}
		return out, nil
	}
	calls := make([]schema.ToolCall, s.calls)
	for j := range calls {
		query := s.query(fmt.Sprintf("q%d-%d-%d", humans, answers, j))
		calls[j] = schema.ToolCall{
			ID:       fmt.Sprintf("call_%d_%d_%d", humans, answers, j),
			Function: schema.FunctionCall{Name: "echo", Arguments: `{"query":"` + query + `"}`},
		}
	}
	return schema.AssistantMessage("", calls), nil
}

type echoArguments struct {
	Query string `json:"query"`
}

// makeEcho returns a tool whose text result is not encoded as JSON a second time.
func makeEcho(latency time.Duration, large bool) tool.InvokableTool {
	text := func(_ context.Context, in *echoArguments) (string, error) {
		if latency > 0 {
			time.Sleep(latency)
		}
		if large {
			return strings.Repeat("result for query: "+in.Query, 10), nil
		}
		return "result for " + in.Query, nil
	}
	asIs := utils.WithMarshalOutput(func(_ context.Context, out any) (string, error) { return out.(string), nil })
	out, err := utils.InferTool("echo", "Repeats the query.", text, asIs)
	check(err)
	return out
}

func makeAgent(chat model.ToolCallingChatModel, rounds int, latency time.Duration, large bool) *react.Agent {
	out, err := react.NewAgent(background, &react.AgentConfig{
		ToolCallingModel: chat,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{makeEcho(latency, large)}},
		MaxStep:          2*rounds + 10,
	})
	check(err)
	return out
}

func hi() []*schema.Message { return []*schema.Message{schema.UserMessage("hi")} }

func digest(messages []*schema.Message) string {
	texts := make([]string, len(messages))
	for i, one := range messages {
		texts[i] = one.Content
	}
	sum := sha256.Sum256([]byte(strings.Join(texts, "|")))
	return hex.EncodeToString(sum[:])[:16]
}

func reactAgent(p *parameters) *report {
	calls, rounds, runs := p.integer("C", 1), p.integer("T", 3), p.integer("runs", 1)
	large, reps := p.integer("pay", 0) == 1, p.integer("reps", 3)
	if p.text("version", "v1") == "v2" || p.integer("new", 0) == 1 {
		os.Exit(3) // the tools node runs all calls of a message; there is no other form
	}
	p.done()
	var messages []*schema.Message
	chat := &scripted{rounds: rounds, calls: calls, large: large, seen: func(all []*schema.Message) { messages = all }}
	agent := makeAgent(chat, rounds, 0, large)
	_, err := makeAgent(&scripted{rounds: 1, calls: 1, large: large}, 1, 0, large).Generate(background, hi())
	check(err)
	r := newReport("tool call", rounds*calls*runs)
	r.measure(reps, func() {
		for range runs {
			_, err := agent.Generate(background, hi())
			check(err)
		}
	})
	r.checks["messages"] = len(messages)
	r.checks["digest"] = digest(messages)
	return r
}

// crowd runs the agent with at most `most` runs at a time (0: all) and returns the last messages of all runs.
func crowd(agent *react.Agent, runs, most int) []*schema.Message {
	results := make([]*schema.Message, runs)
	if most == 0 {
		most = runs
	}
	gate := make(chan struct{}, most)
	var left sync.WaitGroup
	for i := range runs {
		left.Add(1)
		gate <- struct{}{}
		go func() {
			defer left.Done()
			out, err := agent.Generate(background, hi())
			check(err)
			results[i] = out
			<-gate
		}()
	}
	left.Wait()
	return results
}

// measureCrowd counts the messages by the rule of the workload: Eino's agent returns only the last one, whose text
// contains the number of tool messages.
func measureCrowd(r *report, agent *react.Agent, runs, most, reps int) {
	crowd(agent, min(10, runs), 0)
	before := usage().Maxrss
	for i := range reps {
		var results []*schema.Message
		r.measure(1, func() { results = crowd(agent, runs, most) })
		if i == 0 && most == 0 {
			r.extra["rss_per_run_kb"] = float64(usage().Maxrss-before) / float64(runs)
		}
		dones := 0
		for _, one := range results {
			if one.Content == "done 1 4" {
				dones++
			}
		}
		expect(dones == runs, dones)
		r.checks["messages"] = 8 * dones
		r.checks["dones"] = dones
	}
}

func batch(p *parameters) *report {
	runs, latency, most := p.integer("R", 1000), p.integer("lat", 0), p.integer("conc", 0)
	reps := p.integer("reps", 3)
	p.done()
	r := newReport("run", runs)
	agent := makeAgent(&scripted{rounds: 2, calls: 2}, 2, time.Duration(latency)*time.Millisecond, false)
	measureCrowd(r, agent, runs, most, reps)
	r.extra["cpu_per_1000"] = r.cpu / float64(runs) * 1000
	return r
}

func modelHTTP(p *parameters) *report {
	most := p.integer("conc", 1)
	runs, url, reps := p.integer("R", max(50, 2*most)), p.text("url", ""), p.integer("reps", 3)
	if p.integer("stream", 0) == 1 {
		os.Exit(3) // its agent streams the final answer or nothing
	}
	p.done()
	chat, err := openai.NewChatModel(background, &openai.ChatModelConfig{APIKey: "none", BaseURL: url, Model: "scripted"})
	check(err)
	r := newReport("run", runs)
	measureCrowd(r, makeAgent(chat, 2, 0, false), runs, most, reps)
	delete(r.checks, "dones")
	delete(r.extra, "rss_per_run_kb")
	r.extra["runs_per_s"] = float64(runs) / r.seconds
	r.extra["cpu_per_run_ms"] = r.cpu / float64(runs) * 1000
	return r
}

// talking streams 200 tokens.
type talking struct{ scripted }

func (t *talking) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	reader, writer := schema.Pipe[*schema.Message](16)
	go func() {
		defer writer.Close()
		for k := range 200 {
			writer.Send(schema.AssistantMessage(fmt.Sprintf("tok%d ", k), nil), nil)
		}
	}()
	return reader, nil
}

func streaming(p *parameters) *report {
	runs, reps := p.integer("R", 1000), p.integer("reps", 3)
	p.done()
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	check(g.AddChatModelNode("model", &talking{}))
	check(g.AddEdge(compose.START, "model"))
	check(g.AddEdge("model", compose.END))
	graph, err := g.Compile(background)
	check(err)
	read := func() (tokens, chars int) {
		stream, err := graph.Stream(background, hi())
		check(err)
		defer stream.Close()
		for {
			one, err := stream.Recv()
			if err == io.EOF {
				return
			}
			check(err)
			expect(one.Content == fmt.Sprintf("tok%d ", tokens), one.Content)
			tokens++
			chars += len(one.Content)
		}
	}
	read()
	r := newReport("token", runs*200)
	var tokens, chars int
	r.measure(reps, func() {
		tokens, chars = 0, 0
		var lock sync.Mutex
		var left sync.WaitGroup
		gate := make(chan struct{}, 100)
		for range runs {
			left.Add(1)
			gate <- struct{}{}
			go func() {
				defer left.Done()
				t, c := read()
				lock.Lock()
				tokens, chars = tokens+t, chars+c
				lock.Unlock()
				<-gate
			}()
		}
		left.Wait()
	})
	r.checks["tokens"], r.checks["chars"] = tokens, chars
	r.extra["cpu_per_token_us"] = r.cpuMin / float64(r.units) * 1e6
	return r
}
