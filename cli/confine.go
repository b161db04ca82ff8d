package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedledger/deed/runner"
	"github.com/spf13/cobra"
)

// confineCommand is the hidden command by which a check confines itself.
const confineCommand = "confine"

// newConfineCommand builds "deed confine", which restricts this process and
// becomes the command that follows.
func newConfineCommand(*Env, *flags) *cobra.Command {
	return &cobra.Command{
		Use: confineCommand + " SPEC COMMAND…", Short: "Become a command that is kept from the rest of the machine", Hidden: true,
		DisableFlagParsing: true, Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return runner.Confine(args[0], args[1:]) },
	}
}

// confining is how a verifier's flags change the confinement of checks.
type confining struct {
	off                bool
	readable, writable []string
}

func (c *confining) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.off, "unconfined", false, "let the checks read and write what you can; the receipt says so")
	cmd.Flags().StringArrayVar(&c.readable, "readable", nil, "file or folder that the checks may read, too (repeat)")
	cmd.Flags().StringArrayVar(&c.writable, "writable", nil, "file or folder that the checks may read and write, too (repeat)")
}

// confinement returns what keeps checks from the rest of this machine, nil for
// nothing, and the word for it in receipts.
func (s *session) confinement(c confining, passed []string) (*runner.Confinement, string, error) {
	if c.off {
		return nil, "none: switched off by the verifier", nil
	}
	version, reason := runner.Landlock()
	if version == 0 {
		return nil, "none: " + reason, nil
	}
	denied, err := s.secretPlaces()
	if err != nil {
		return nil, "", err
	}
	made := &runner.Confinement{Launch: []string{s.env.Executable, confineCommand}, Denied: denied}
	for _, entry := range passed {
		if _, value, _ := strings.Cut(entry, "="); filepath.IsAbs(value) {
			made.Readable = append(made.Readable, value)
		}
	}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{c.readable, &made.Readable}, {c.writable, &made.Writable}} {
		for _, path := range list.from {
			path = s.abs(path)
			if _, err := os.Stat(path); err != nil {
				return nil, "", fmt.Errorf("%w: there is no %s to be used by checks", errUsage, plain(path))
			}
			*list.to = append(*list.to, path)
		}
	}
	return made, fmt.Sprintf("landlock-%d", version), nil
}

// secretPlaces returns where this person's keys, ledgers and other secrets lie
// on this machine. No check reads them, whatever it may read besides.
func (s *session) secretPlaces() ([]string, error) {
	p, err := s.env.places()
	if err != nil {
		return nil, err
	}
	list := []string{p.Config, p.State, p.Data}
	if f, err := s.open(); err == nil {
		list = append(list, f.Dir)
	}
	for _, path := range []string{s.flags.keyFile, s.flags.passphrase} {
		if path != "" {
			list = append(list, s.abs(path))
		}
	}
	for _, entry := range s.env.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "DEED_") && filepath.IsAbs(value) || name == "SSH_AUTH_SOCK" {
			list = append(list, value)
		}
	}
	if home := s.env.Getenv("HOME"); filepath.IsAbs(home) {
		for _, name := range []string{
			".ssh", ".config", ".gnupg", ".aws", ".azure", ".docker", ".kube", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
			".gitconfig", ".local/share", ".local/state", ".cargo/credentials.toml", ".m2/settings.xml", ".bash_history", ".zsh_history",
		} {
			list = append(list, filepath.Join(home, name))
		}
	}
	return list, nil
}

// confines says whether checks can be confined on this machine.
func (d *doctor) confines() {
	version, reason := runner.Landlock()
	if version == 0 {
		d.say(found{"confine", checkWarn, "verify on a machine with Linux 6.2 or newer and Landlock, or in CI: receipts from here say same-host at best"},
			"checks cannot be kept from keys and other files here: %s", reason)
		return
	}
	text := "checks are kept from keys, ledgers and home: Landlock version %d"
	if version < 6 {
		text += "; they can send signals to your processes, which version 6 prevents"
	}
	d.say(found{"confine", checkOK, ""}, text, version)
}
