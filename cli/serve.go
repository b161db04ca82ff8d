package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/deedledger/deed/server"
	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
)

// listenDefault is where a service listens: a free port for this machine only.
const listenDefault = "127.0.0.1:0"

// newServeCommand builds "deed serve".
func newServeCommand(e *Env, f *flags) *cobra.Command {
	var listen string
	var verbose bool
	var n natsFlags
	var artifacts int64
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the ledger's service in the foreground", Args: cobra.NoArgs,
		Long: `Run the service of a ledger until SIGINT or SIGTERM. It verifies the whole history
first, then prints where it listens, and logs to stderr. deed up does the same in the
background. Only one service can run on a folder.

With --nats the ledger is kept on an operator's NATS, where deed ledger create --nats
made it; that folder remembers how. Two instances may serve one ledger, each with a
folder of its own that holds copies of ledger.json and service.key: one writes, the
other hands on to it and takes over when it ends. See deploy/README.md.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			if artifacts < 1 {
				return fmt.Errorf("%w: --artifact-limit %d, want at least 1", errUsage, artifacts)
			}
			o := server.Options{Listen: listen, ArtifactLimit: artifacts}
			return s.serve(ctx, o, verbose, &n)
		}),
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log what the embedded server does, too")
	cmd.Flags().StringVar(&listen, "listen", listenDefault, "loopback address; port 0 takes a free one")
	cmd.Flags().Int64Var(&artifacts, "artifact-limit", server.ArtifactLimitDefault, "largest artifact, in bytes")
	n.register(cmd, "the service")
	cmd.Flags().DurationVar(&n.term, "lease-term", server.TermDefault, "with --nats: how long the instance that writes may be silent before another one takes over")
	cmd.Flags().IntVar(&n.replicas, "replicas", 0, "copies of the stream: 1, 3 or 5; default 3 on a cluster, else 1")
	return cmd
}

// served says where a service runs.
type served struct {
	Ledger   string `json:"ledger"`
	Identity string `json:"identity"`
	Dir      string `json:"dir"`
	URL      string `json:"url"`
	PID      int    `json:"pid"`
	// Started says that this command started it.
	Started bool `json:"started"`
}

// serve runs a service that listens, and takes artifacts, as told.
func (s *session) serve(ctx context.Context, told server.Options, verbose bool, n *natsFlags) error {
	if err := n.check(); err != nil {
		return err
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	log := slog.New(tint.NewHandler(s.env.Stderr, &tint.Options{Level: level, TimeFormat: time.RFC3339, NoColor: !s.env.Terminal}))
	o := s.serviceOptions(f.Dir)
	o.Listen, o.ArtifactLimit, o.Log, o.External = told.Listen, told.ArtifactLimit, log, n.external(s)
	local, err := server.Run(ctx, o)
	if err != nil {
		return err
	}
	where := served{Ledger: f.Ledger, Identity: f.Identity, Dir: f.Dir, URL: local.URL(), PID: s.env.PID, Started: true}
	err = s.result("service", where, func(w *textWriter) { w.line("ledger %s at %s", where.Ledger, where.URL) })
	if err != nil {
		return errors.Join(err, local.Close())
	}
	log.Info("service started")
	<-ctx.Done()
	log.Info("service stops")
	return local.Close()
}
