// Command report runs the benchmarks of package bench in three rounds and writes
// what they measured to docs/performance.md. It takes two to three minutes, at
// the top of the repository:
//
//	go run ./bench/report
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	out := flag.String("out", "docs/performance.md", "page to write")
	time := flag.String("benchtime", "1s", "how long each benchmark runs at least")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *time); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, benchtime string) error {
	args := []string{"test", "-run", "^$", "-bench", ".", "-benchtime", benchtime, "-timeout", "10m", "./bench"}
	f := figures{}
	for range rounds {
		cmd := exec.CommandContext(ctx, "go", args...)
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, os.Stderr), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("run benchmarks: %w", err)
		}
		if err := f.read(&text); err != nil {
			return err
		}
	}
	page, err := f.page(fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()), "go "+strings.ReplaceAll(strings.Join(args, " "), "^$", "'^$'"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, []byte(page), 0o644); err != nil { //nolint:gosec // a page of the documentation
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// rounds is how often every benchmark runs.
const rounds = 3

// figures are what the benchmarks measured, by name and unit.
type figures map[string]map[string]float64

// read adds what go test prints: a name, the iterations, then pairs of a value
// and its unit. Of a benchmark that it has already it keeps the quieter round:
// whatever else the machine does only makes it slower.
func (f figures) read(r io.Reader) error {
	for scan := bufio.NewScanner(r); scan.Scan(); {
		words := strings.Fields(scan.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i] // without the number of cores
		}
		line := map[string]float64{}
		for i := 2; i+1 < len(words); i += 2 {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			line[words[i+1]] = v
		}
		if known, ok := f[name]; !ok || quieter(line, known) {
			f[name] = line
		}
	}
	return nil
}

// quieter reports whether a is of a quieter round than b: less time for an
// operation, or where there is no such figure more events in a second.
func quieter(a, b map[string]float64) bool {
	if a["ns/op"] != b["ns/op"] {
		return a["ns/op"] < b["ns/op"]
	}
	return a["events/s"] > b["events/s"]
}

// errMissing says that a benchmark did not measure what the page shows.
var errMissing = errors.New("figure was not measured")

// page returns the whole page.
func (f figures) page(machine, command string) (string, error) {
	var missing []error
	get := func(name, unit string) float64 {
		v, ok := f[name][unit]
		if !ok {
			missing = append(missing, fmt.Errorf("%w: %s of %s", errMissing, unit, name))
		}
		return v
	}
	var b strings.Builder
	fmt.Fprintf(&b, introduction, machine, command)

	b.WriteString("\n## What the machine can do\n\n| limit | per second | µs each |\n|---|---:|---:|\n")
	for _, row := range [][3]string{
		{"append 1 KiB to a file and fsync it", "RawFsync", "syncs/s"},
		{"publish to a stream that syncs each message, one in flight", "RawPublish", "messages/s"},
		{"Ed25519 signature made", "RawSign", "signatures/s"},
		{"Ed25519 signature checked", "RawVerify", "signatures/s"},
	} {
		rate := get(row[1], row[2])
		fmt.Fprintf(&b, "| %s | %.0f | %.0f |\n", row[0], rate, 1e6/rate)
	}

	b.WriteString("\n## What the ledger does\n\n| accepted events | per second | p50 ms | p99 ms | of the stream's rate | of the disk's rate |\n|---|---:|---:|---:|---:|---:|\n")
	publish, fsync := get("RawPublish", "messages/s"), get("RawFsync", "syncs/s")
	for _, row := range [][2]string{
		{"1 client", "Accept/clients=1"}, {"32 clients", "Accept/clients=32"}, {"1 client that keeps each head on disk", "AcceptRemembered"},
	} {
		rate := get(row[1], "events/s")
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f | %.2f |\n", row[0], rate, get(row[1], "p50-ms"), get(row[1], "p99-ms"), rate/publish, rate/fsync)
	}
	verify := get("Verify", "events/s")
	fmt.Fprintf(&b, "\n| replay and verify | per second | of the rate of signature checks |\n|---|---:|---:|\n| a stream of 2,001 events | %.0f | %.2f |\n",
		verify, verify/get("RawVerify", "signatures/s"))
	b.WriteString("\n| resume packet of a task with | p50 ms | p99 ms |\n|---|---:|---:|\n")
	for _, n := range []string{"10", "100", "1000"} {
		name := "Packet/events=" + n
		fmt.Fprintf(&b, "| %s events | %.2f | %.2f |\n", n, get(name, "p50-ms"), get(name, "p99-ms"))
	}
	b.WriteString("\n| 50,000 files, 2,000 changes | ms | of git by content | of git by its index |\n|---|---:|---:|---:|\n")
	fmt.Fprintf(&b, "| `deed capture`: what differs, by content | %.0f | %.2f | %.2f |\n", get("Capture", "capture-ms"), get("Capture", "of-git-content"), get("Capture", "of-git-status"))
	fmt.Fprintf(&b, "| the boundary check of a branch | %.0f | %.2f | |\n", get("Boundary", "check-ms"), get("Boundary", "of-git"))
	fmt.Fprintf(&b, "\n| `deed version` | CPU ms | wall ms |\n|---|---:|---:|\n| one process | %.1f | %.1f |\n", get("Command", "cpu-ms"), get("Command", "ns/op")/1e6)
	return b.String(), errors.Join(missing...)
}

// introduction is the page's text before its tables.
const introduction = `# Performance

Every figure on this page is of one run of ` + "`go run ./bench/report`" + `, which writes the page: three rounds of the command below, and
of each benchmark the quietest round. Compare the ratios, not the figures: another machine, or a busy one, gives others, and under load a
ratio of two figures from different moments says little. Measured on: %s.

    %s

- An *accepted event* is built and signed by the client, sent over TCP, checked against the profile, the keys and the rules, synced to
  disk, covered by a signed head, acknowledged, and its head checked by the client. Latency is from before the signature to after that
  check. Clients, service and disk share the machine.
- There is one writer with one message in flight, so events of all clients follow one another at the rate of the stream; more clients
  share the signing of heads and the checking of signatures, not the sync.
- *Replay and verify* is what every start and ` + "`deed audit verify`" + ` do: headers, signature, chain, rules and tree for each event, on one core.
- *Of git* is the time of the git commands whose answers a capture or a check needs, one after the other, in the same repository: by content,
  where git has to read every file as a capture does, and by the times in git's index, which anybody can set. The limit is 2.
- CPU is user and system time of the process.
`
