// Command deed is a signed, append-only ledger for work that coding agents
// deliver: client, local service and server in one binary.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/deedledger/deed/cli"
	"github.com/google/uuid"
	"golang.org/x/term"
)

// version is set by the linker in releases.
var version string

func main() { os.Exit(run()) }

func run() int {
	env, err := environment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deed:", err)
		return cli.ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A command that cannot hear the first signal, as it waits for input, ends
	// at the second one.
	context.AfterFunc(ctx, stop)
	root := cli.New(env)
	// fang adds completion, man pages and styled help; errors are reported
	// here, where they get their exit codes.
	err = fang.Execute(ctx, root, fang.WithVersion(env.Version), fang.WithErrorHandler(quiet))
	return cli.Report(env, root, err)
}

// quiet leaves errors to cli.Report.
func quiet(io.Writer, fang.Styles, error) {}

// environment is everything that commands may know of the process.
func environment() (*cli.Env, error) {
	dir, err := os.Getwd()
	executable, errExe := os.Executable()
	host, errHost := os.Hostname()
	if err := errors.Join(err, errExe, errHost); err != nil {
		return nil, err
	}
	e := &cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ,
		Dir: dir, Executable: executable, PID: os.Getpid(), Host: host, Terminal: term.IsTerminal(int(os.Stdout.Fd())),
		Now: time.Now, NewID: newID, Random: rand.Reader, Version: buildVersion(),
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		e.Prompt = prompt
	}
	return e, nil
}

// newID returns a UUIDv7 (RFC 9562).
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// prompt asks on the terminal without echo.
func prompt(label string) ([]byte, error) {
	fmt.Fprint(os.Stderr, label)
	defer fmt.Fprintln(os.Stderr)
	return term.ReadPassword(int(os.Stdin.Fd()))
}

// buildVersion returns the linked version, else that of the module.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
