package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// ledgerContext names a ledger and, optionally, the actor that one acts as.
type ledgerContext struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`
	As   string `json:"as,omitzero"`
}

// currentContext returns the context of --context, DEED_CONTEXT, or the
// selected one.
func (s *session) currentContext() (ledgerContext, error) {
	p, err := s.env.places()
	if err != nil {
		return ledgerContext{}, err
	}
	name := first(s.flags.context, s.env.Getenv("DEED_CONTEXT"))
	if name == "" {
		text, err := os.ReadFile(p.SelectedPath())
		if errors.Is(err, fs.ErrNotExist) {
			err := fmt.Errorf("find ledger: %w: no ledger is known here", errNoService)
			return ledgerContext{}, withHint(err, "create one with: deed ledger create NAME --admin ACTOR; or name its folder with --dir")
		}
		if err != nil {
			return ledgerContext{}, fmt.Errorf("find ledger: %w", err)
		}
		name = strings.TrimSpace(string(text))
	}
	return readContext(p, name)
}

func readContext(p places, name string) (ledgerContext, error) {
	if !events.ValidActor(name) {
		return ledgerContext{}, fmt.Errorf("%w: %q is no context name", errUsage, name)
	}
	text, err := os.ReadFile(p.ContextPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return ledgerContext{}, withHint(fmt.Errorf("%w: there is no context %q", errMissing, name), "deed context ls lists them; deed context add NAME --dir DIR makes one")
	}
	if err != nil {
		return ledgerContext{}, fmt.Errorf("read context: %w", err)
	}
	c := ledgerContext{}
	if err := json.Unmarshal(text, &c, json.RejectUnknownMembers(true)); err != nil {
		return ledgerContext{}, fmt.Errorf("read context %s: %w", name, err)
	}
	c.Name = name
	return c, nil
}

// saveContext writes a context and selects it when none is selected yet.
func saveContext(p places, c ledgerContext) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("save context: %w", err)
	}
	c.Dir = dir
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save context: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(p.ContextPath(c.Name)), 0o700); err != nil {
		return fmt.Errorf("save context: %w", err)
	}
	if err := replaceFile(p.ContextPath(c.Name), append(text, '\n')); err != nil {
		return fmt.Errorf("save context: %w", err)
	}
	if _, err := os.Stat(p.SelectedPath()); errors.Is(err, fs.ErrNotExist) {
		return selectContext(p, c.Name)
	}
	return nil
}

func selectContext(p places, name string) error {
	if err := replaceFile(p.SelectedPath(), []byte(name+"\n")); err != nil {
		return fmt.Errorf("select context: %w", err)
	}
	return nil
}

// replaceFile writes a small file, mode 0600, as a whole: a process that dies
// meanwhile leaves the old one.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// newContextCommand builds "deed context".
func newContextCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "context", Short: "Name ledgers and choose one"}
	var as, pin string
	var n natsFlags
	add := &cobra.Command{
		Use: "add NAME --dir DIR", Short: "Name the ledger in a folder, or one on an operator's NATS", Args: cobra.ExactArgs(1),
		Long: `Name the ledger in a folder. With --nats the ledger is on an operator's NATS:
--ledger-file is a copy of the service's ledger.json, which pins the ledger's identity
and the service's key and holds no secret, and --creds is the client's credential. The
folder is made then, --dir or one named like the context.`,
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error {
			p, err := e.places()
			if err != nil {
				return err
			}
			c := ledgerContext{Name: args[0], Dir: s.flags.dir, As: as}
			if n.url != "" && c.Dir == "" && events.ValidActor(c.Name) {
				c.Dir = p.LedgerDir(c.Name)
			}
			if c.Dir == "" || !events.ValidActor(c.Name) {
				return fmt.Errorf("%w: context add NAME --dir DIR", errUsage)
			}
			if err := s.enter(&n, pin, c.Dir); err != nil {
				return err
			}
			if err := saveContext(p, c); err != nil {
				return err
			}
			return s.result("context", c, func(w *textWriter) { w.line("context %s: %s", c.Name, c.Dir) })
		}),
	}
	n.register(add, "the client")
	add.Flags().StringVar(&pin, "ledger-file", "", "with --nats: copy of the service's ledger.json")
	add.Flags().StringVar(&as, "actor", "", "act as this actor by default")
	choose := &cobra.Command{
		Use: "select NAME", Short: "Use a context from now on", Args: cobra.ExactArgs(1),
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error {
			p, err := e.places()
			if err != nil {
				return err
			}
			c, err := readContext(p, args[0])
			if err != nil {
				return err
			}
			if err := selectContext(p, c.Name); err != nil {
				return err
			}
			return s.result("context", c, func(w *textWriter) { w.line("context %s: %s", c.Name, c.Dir) })
		}),
	}
	list := &cobra.Command{
		Use: "ls", Short: "List contexts", Args: cobra.NoArgs,
		RunE: e.action(f, func(_ context.Context, s *session, _ []string) error { return s.listContexts() }),
	}
	cmd.AddCommand(add, choose, list)
	return cmd
}

func (s *session) listContexts() error {
	p, err := s.env.places()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(p.ContextPath("*"))
	if err != nil {
		return fmt.Errorf("list contexts: %w", err)
	}
	slices.Sort(files)
	contexts := []ledgerContext{}
	for _, file := range files {
		c, err := readContext(p, strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return err
		}
		contexts = append(contexts, c)
	}
	selected, _ := s.currentContext()
	return s.result("contexts", contexts, func(w *textWriter) {
		rows := make([][]string, len(contexts))
		for i, c := range contexts {
			mark := ""
			if c.Name == selected.Name {
				mark = "*"
			}
			rows[i] = []string{mark, c.Name, c.Dir, c.As}
		}
		w.table([]string{"", "NAME", "FOLDER", "ACTOR"}, rows)
	})
}
