package testreport

import (
	"maps"
	"slices"
	"strconv"
)

// sarifResult is one result of an analyser.
type sarifResult struct {
	rule, kind, level, baseline, message, place string
	index                                       int64 // of its rule in the driver's list; -1 for none
	suppressed                                  bool
}

// sarifRun is a run of one tool; its members come in any order.
type sarifRun struct {
	tool    string
	results bool              // it has a list of results, though it may be empty
	failed  int64             // results of level error that count
	levels  map[string]string // default level of each rule, where it is not "warning"
	order   []string          // ids of the rules
	later   map[string]int64  // results without a level, by rule, until all rules are known
	place   map[string]Case   // the first of each
}

// sarifReader reads SARIF 2.1.0.
type sarifReader struct {
	d   *document
	t   *tally
	run *sarifRun
}

func readSARIF(in *source, t *tally) {
	r := &sarifReader{d: newDocument(in.text, t), t: t}
	version, runs := "", false
	root := r.d.object([]string{"version", "runs"}, func(i int) {
		if i == 0 {
			version, _ = r.d.text()
		} else {
			runs = r.d.array(r.readRun)
		}
	})
	if !root || !runs || version != "2.1.0" {
		r.d.fail(Malformed, "no SARIF 2.1.0: version or runs is missing")
	}
	r.d.end()
}

func (r *sarifReader) readRun() {
	r.run = &sarifRun{levels: map[string]string{}, later: map[string]int64{}, place: map[string]Case{}}
	ok := r.d.object([]string{"tool", "invocations", "results"}, func(i int) {
		switch i {
		case 0:
			r.d.object([]string{"driver"}, func(int) { r.readDriver() })
		case 1:
			r.d.array(r.readInvocation)
		case 2:
			r.run.results = r.d.array(r.readResult)
		}
	})
	if r.d.broken {
		return
	}
	if !ok {
		r.t.found(Contradiction, "a run is no object")
		return
	}
	r.endRun()
}

func (r *sarifReader) readDriver() {
	r.d.object([]string{"name", "rules"}, func(i int) {
		if i == 0 {
			r.run.tool, _ = r.d.text()
			return
		}
		r.d.array(func() {
			id, level := "", ""
			r.d.object([]string{"id", "defaultConfiguration"}, func(i int) {
				if i == 0 {
					id, _ = r.d.text()
					return
				}
				r.d.object([]string{"level"}, func(int) { level, _ = r.d.text() })
			})
			if !r.t.hold(id) {
				return
			}
			r.run.order = append(r.run.order, id)
			if level != "" {
				r.run.levels[id] = r.t.clip(level)
			}
		})
	})
}

// readInvocation reads whether the tool succeeded, and what it says went wrong.
func (r *sarifReader) readInvocation() {
	success, stated := false, false
	r.d.object([]string{"executionSuccessful", "toolExecutionNotifications", "toolConfigurationNotifications"}, func(i int) {
		if i == 0 {
			success, stated = r.d.flag()
			return
		}
		r.d.array(func() {
			level, message := "", ""
			r.d.object([]string{"level", "message"}, func(i int) {
				if i == 0 {
					level, _ = r.d.text()
				} else {
					message = r.message()
				}
			})
			if level == "error" {
				r.t.found(ToolFailed, "the tool reports an error of its own: %s", firstLine(message))
			}
		})
	})
	if !stated || !success {
		r.t.found(ToolFailed, "the tool does not say that it succeeded")
	}
}

func (r *sarifReader) message() string {
	text := ""
	r.d.object([]string{"text"}, func(int) { text, _ = r.d.text() })
	return text
}

func (r *sarifReader) readResult() {
	one := sarifResult{index: -1}
	names := []string{"ruleId", "rule", "ruleIndex", "kind", "level", "message", "suppressions", "baselineState", "locations"}
	ok := r.d.object(names, func(i int) {
		switch names[i] {
		case "ruleId":
			one.rule, _ = r.d.text()
		case "rule":
			r.readRuleReference(&one)
		case "ruleIndex":
			if n, ok := r.d.number(); ok {
				one.index = n
			}
		case "kind":
			one.kind, _ = r.d.text()
		case "level":
			one.level, _ = r.d.text()
		case "message":
			one.message = r.message()
		case "suppressions":
			one.suppressed = r.suppressed()
		case "baselineState":
			one.baseline, _ = r.d.text()
		case "locations":
			one.place = r.place()
		}
	})
	if !ok && !r.d.broken {
		r.t.found(Contradiction, "a result is no object")
	}
	if ok && !r.d.broken {
		r.take(one)
	}
}

func (r *sarifReader) readRuleReference(one *sarifResult) {
	r.d.object([]string{"id", "index"}, func(i int) {
		if i == 0 {
			if id, ok := r.d.text(); ok && one.rule == "" {
				one.rule = id
			}
		} else if n, ok := r.d.number(); ok && one.index < 0 {
			one.index = n
		}
	})
}

// suppressed tells whether a result is: a suppression counts unless it was
// rejected or waits for a review.
func (r *sarifReader) suppressed() bool {
	some, open := false, false
	r.d.array(func() {
		status := ""
		r.d.object([]string{"status"}, func(int) { status, _ = r.d.text() })
		some = true
		open = open || status != "" && status != "accepted"
	})
	return some && !open
}

// place is the path and line of a result's first location.
func (r *sarifReader) place() string {
	first := ""
	r.d.array(func() {
		uri, line := "", int64(0)
		r.d.object([]string{"physicalLocation"}, func(int) {
			r.d.object([]string{"artifactLocation", "region"}, func(i int) {
				if i == 0 {
					r.d.object([]string{"uri"}, func(int) { uri, _ = r.d.text() })
				} else {
					r.d.object([]string{"startLine"}, func(int) { line, _ = r.d.number() })
				}
			})
		})
		if first == "" && uri != "" {
			first = uri + ":" + strconv.FormatInt(line, 10)
		}
	})
	return first
}

// take counts a result. One without a level waits until all rules are known.
func (r *sarifReader) take(one sarifResult) {
	if one.baseline == "absent" {
		return // it was there once
	}
	c := Case{Suite: one.rule, Name: one.place, Message: one.message}
	switch {
	case one.suppressed:
		c.Suite, c.Name = "", one.rule // what a contract can allow is the rule
		c.Status = Skipped
		r.t.add(c)
	case one.kind == "pass":
		c.Status = Passed
		r.t.add(c)
	case one.kind == "open" || one.kind == "review":
		r.t.unfinished(c.ID())
	case one.kind == "informational" || one.kind == "notApplicable":
	case one.kind != "" && one.kind != "fail":
		r.t.unfinished(c.ID())
	case one.level == "":
		r.wait(one, c)
	default:
		r.judge(one.level, c, 1)
	}
}

// wait keeps a result without a level by its rule.
func (r *sarifReader) wait(one sarifResult, c Case) {
	key := one.rule
	if key == "" && one.index >= 0 {
		key = "#" + strconv.FormatInt(one.index, 10)
	}
	if r.run.later[key] == 0 {
		if !r.t.hold(key) {
			return
		}
		c.Suite, c.Name, c.Message = r.t.clip(c.Suite), r.t.clip(c.Name), r.t.clip(c.Message)
		r.run.place[key] = c
	}
	r.run.later[key]++
}

// judge counts n results of a level.
func (r *sarifReader) judge(level string, c Case, n int64) {
	switch level {
	case "error":
		r.run.failed += n
		c.Status = Failed
		for range n {
			r.t.add(c)
		}
	case "warning":
		r.t.found(NoteWarning, "%s: %s", c.ID(), firstLine(c.Message))
	case "note", "none":
	default:
		r.t.unfinished(c.ID())
	}
}

// endRun judges what waited, and counts the run itself: a tool that looked and
// found no error is a case that passed.
func (r *sarifReader) endRun() {
	run := r.run
	for _, key := range slices.Sorted(maps.Keys(run.later)) {
		r.judge(run.level(key), run.place[key], run.later[key])
		r.t.release(key)
	}
	for _, id := range run.order {
		r.t.release(id)
	}
	switch {
	case !run.results:
		r.t.unfinished("run of " + run.tool + " without results")
	case run.failed == 0:
		r.t.add(Case{Suite: "run", Name: run.tool, Status: Passed})
	}
}

// level is the default level of a rule, by its id or "#" and its index. The
// specification's own default is warning.
func (s *sarifRun) level(key string) string {
	if len(key) > 0 && key[0] == '#' {
		if i, err := strconv.Atoi(key[1:]); err == nil && i < len(s.order) {
			key = s.order[i]
		}
	}
	if level := s.levels[key]; level != "" {
		return level
	}
	return "warning"
}
