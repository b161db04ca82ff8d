package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// printed is what go test prints.
const printed = `goos: linux
BenchmarkAccept/clients=1-2   	     676	       540.1 events/s	         1.025 p50-ms	         8.071 p99-ms
BenchmarkAccept/clients=32-2  	     984	       608.2 events/s	        32.34 p50-ms	        61.45 p99-ms
BenchmarkAcceptRemembered-2   	     102	       127.0 events/s	         7.419 p50-ms	        19.06 p99-ms
BenchmarkBoundary-2           	       3	 113827443 ns/op	        72.33 check-ms	         1.691 of-git
BenchmarkCapture-2            	       3	1210382837 ns/op	       365.9 capture-ms	         0.6231 of-git-content	         1.830 of-git-status
BenchmarkCommand-2            	      72	  18356224 ns/op	        13.33 cpu-ms
BenchmarkPacket/events=10-2   	    1120	   1014176 ns/op	         0.6427 p50-ms	         6.836 p99-ms
BenchmarkPacket/events=100-2  	     787	   1428847 ns/op	         0.8746 p50-ms	         9.543 p99-ms
BenchmarkPacket/events=1000-2 	     253	   5187694 ns/op	         3.779 p50-ms	        19.09 p99-ms
BenchmarkRawFsync-2           	    1484	    841448 ns/op	      1188 syncs/s
BenchmarkRawPublish-2         	    2238	    647411 ns/op	      1545 messages/s
BenchmarkRawSign-2            	   28230	     41390 ns/op	     24160 signatures/s
BenchmarkRawVerify-2          	   15020	     76657 ns/op	     13045 signatures/s
BenchmarkVerify-2             	       3	 368721859 ns/op	      5427 events/s	77152714 B/op	  652423 allocs/op
PASS
`

func TestPage(t *testing.T) {
	f := figures{}
	if err := f.read(strings.NewReader(printed)); err != nil {
		t.Fatal(err)
	}
	page, err := f.page("2 cores", "go test")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 1 client | 540 | 1.02 | 8.07 | 0.35 | 0.45 |", "| a stream of 2,001 events | 5427 | 0.42 |", "| one process | 13.3 | 18.4 |", "by content | 366 | 0.62 | 1.83 |", "a branch | 72 | 1.69 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("page has no line %q:\n%s", want, page)
		}
	}
}

// TestMissingFigure: without any one line there is no page.
func TestMissingFigure(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		f := figures{}
		if err := f.read(strings.NewReader(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n"))); err != nil {
			t.Fatal(err)
		}
		if _, err := f.page("2 cores", "go test"); !errors.Is(err, errMissing) {
			t.Errorf("without %q: %v, want errMissing", line, err)
		}
	}
	if err := (figures{}).read(strings.NewReader("BenchmarkX-2 1 junk ns/op")); err == nil {
		t.Error("a figure that is no number is read")
	}
}

// TestQuietestRound: of several rounds one line counts as a whole.
func TestQuietestRound(t *testing.T) {
	f := figures{}
	err := f.read(strings.NewReader(`
BenchmarkA-2 10 300 ns/op 7 cpu-ms
BenchmarkA-2 10 200 ns/op 9 cpu-ms
BenchmarkA-2 10 250 ns/op 5 cpu-ms
BenchmarkB-2 10 100 events/s 4 p50-ms
BenchmarkB-2 10 300 events/s 6 p50-ms
BenchmarkB-2 10 200 events/s 2 p50-ms
`))
	if err != nil || f["A"]["ns/op"] != 200 || f["A"]["cpu-ms"] != 9 || f["B"]["events/s"] != 300 || f["B"]["p50-ms"] != 6 {
		t.Errorf("%v, %v", f, err)
	}
}
