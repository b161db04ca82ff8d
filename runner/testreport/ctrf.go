package testreport

// ctrfReader reads the Common Test Report Format, one JSON document.
type ctrfReader struct {
	d       *document
	t       *tally
	tests   bool
	other   int64 // cases whose status is none that passed, failed or was skipped
	summary struct {
		has bool
		n   [6]int64 // in the order of ctrfSummary; -1 where it is missing
	}
}

func ctrfSummary() []string {
	return []string{"tests", "passed", "failed", "skipped", "pending", "other"}
}

func readCTRF(in *source, t *tally) {
	r := &ctrfReader{d: newDocument(in.text, t), t: t}
	results := false
	root := r.d.object([]string{"results"}, func(int) {
		results = r.d.object([]string{"summary", "tests"}, func(i int) {
			if i == 0 {
				r.readSummary()
			} else {
				r.tests = r.d.array(r.readTest)
			}
		})
	})
	if !root || !results || !r.tests {
		r.d.fail(Malformed, "no CTRF: results.tests is missing")
	}
	r.d.end()
	r.compare()
}

func (r *ctrfReader) readSummary() {
	s := &r.summary
	s.n = [6]int64{-1, -1, -1, -1, -1, -1}
	s.has = r.d.object(ctrfSummary(), func(i int) {
		var ok bool
		if s.n[i], ok = r.d.number(); !ok {
			s.n[i] = -1
			r.t.found(Contradiction, "summary.%s is no count", ctrfSummary()[i])
		}
	})
}

// readTest reads one test.
func (r *ctrfReader) readTest() {
	var c Case
	var status string
	var flaky bool
	var retries int64
	ok := r.d.object([]string{"name", "status", "suite", "message", "flaky", "retries"}, func(i int) {
		switch i {
		case 0:
			c.Name, _ = r.d.text()
		case 1:
			status, _ = r.d.text()
		case 2:
			c.Suite = r.suite()
		case 3:
			c.Message, _ = r.d.text()
		case 4:
			flaky, _ = r.d.flag()
		case 5:
			retries, _ = r.d.number()
		}
	})
	if r.d.broken {
		return
	}
	if !ok {
		r.t.found(Contradiction, "a test is no object")
		return
	}
	switch status {
	case "passed":
		c.Status, c.Flaky = Passed, flaky || retries > 0
	case "failed":
		c.Status = Failed
	case "skipped", "pending":
		c.Status = Skipped
	default:
		r.other++
		r.t.unfinished(c.ID())
		return
	}
	if c.Flaky {
		r.t.found(FlakyCase, "%s failed and passed when tried again", c.ID())
	}
	r.t.add(c)
}

// suite reads a suite's name, which is a string or a list of them.
func (r *ctrfReader) suite() string {
	if r.d.peek() != '[' {
		name, _ := r.d.text()
		return name
	}
	path := ""
	r.d.array(func() {
		name, _ := r.d.text()
		if path != "" {
			path += "/"
		}
		path = clipText(path+name, maxStringBytes)
	})
	return path
}

// compare holds the summary against the cases.
func (r *ctrfReader) compare() {
	if !r.summary.has || r.d.broken {
		return
	}
	n := r.t.sum.Counts
	has := [6]int64{n.Total + r.other, n.Passed, n.Failed, n.Skipped, n.Skipped, r.other}
	skipped := max(r.summary.n[3], 0) + max(r.summary.n[4], 0)
	for i, name := range ctrfSummary() {
		said := r.summary.n[i]
		if name == "skipped" || name == "pending" {
			said = skipped
		}
		if r.summary.n[i] >= 0 && said != has[i] {
			r.t.found(Contradiction, "counters contradict cases: %d %s in the summary, %d in the list", said, name, has[i])
		}
	}
}
