package cli

import (
	"fmt"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/server"
	"github.com/spf13/cobra"
)

// termLeast is the shortest term of the writer's lease.
const termLeast = time.Second

// natsFlags are the flags that say how to get into an operator's NATS, named as
// in the nats command.
type natsFlags struct {
	url      string
	replicas int
	term     time.Duration
	access   client.Access
}

// register adds the flags to a command.
func (n *natsFlags) register(cmd *cobra.Command, whose string) {
	fs := cmd.Flags()
	fs.StringVar(&n.url, "nats", "", "addresses of an operator's NATS that keeps the ledger, nats://host:port,…")
	fs.StringVar(&n.access.Creds, "creds", "", "credentials file of "+whose)
	fs.StringVar(&n.access.NKey, "nkey", "", "file with the nkey seed of "+whose)
	fs.StringVar(&n.access.User, "user", "", "user name of "+whose+", with --password-file")
	fs.StringVar(&n.access.PasswordFile, "password-file", "", "file with the password of --user")
	fs.StringVar(&n.access.CA, "tlsca", "", "file with the certificates that verify the servers")
	fs.StringVar(&n.access.Cert, "tlscert", "", "certificate file for TLS")
	fs.StringVar(&n.access.CertKey, "tlskey", "", "key file of --tlscert")
}

// check refuses a way in without an address, and a bad address.
func (n *natsFlags) check() error {
	if n.term != 0 && n.term < termLeast {
		return fmt.Errorf("%w: --lease-term %v, want %v or more", errUsage, n.term, termLeast)
	}
	if n.url == "" {
		if n.access != (client.Access{}) || n.replicas != 0 {
			return fmt.Errorf("%w: --creds and the like go with --nats URL", errUsage)
		}
		return nil
	}
	if err := client.CheckURL(n.url); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if _, err := n.access.Options(); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return nil
}

// absolute returns the way in with files that are found from anywhere.
func (n *natsFlags) absolute(s *session) client.Access {
	a := n.access
	for _, file := range []*string{&a.Creds, &a.NKey, &a.PasswordFile, &a.CA, &a.Cert, &a.CertKey} {
		if *file != "" {
			*file = s.abs(*file)
		}
	}
	return a
}

// external returns the service's options, as the flags say.
func (n *natsFlags) external(s *session) server.External {
	e := server.External{Instance: s.env.Host, Term: n.term}
	if n.url != "" {
		e.NATS = &server.NATS{URL: n.url, Access: n.absolute(s), Replicas: n.replicas}
	}
	return e
}

// enter keeps in a folder how clients get to a ledger on an operator's NATS,
// and which ledger that is.
func (s *session) enter(n *natsFlags, pin, dir string) error {
	if err := n.check(); err != nil || n.url == "" {
		return err
	}
	e := server.Entrance{URL: n.url, Access: n.absolute(s)}
	if f, err := server.OpenFolder(s.abs(dir)); err == nil && pin == "" {
		return server.WriteEntrance(f, e)
	}
	if pin == "" {
		return withHint(fmt.Errorf("%w: --nats needs --ledger-file", errUsage), "copy ledger.json from the service's folder: it pins the ledger and holds no secret")
	}
	f, err := server.ReadPin(s.abs(pin))
	if err != nil {
		return err
	}
	f.Dir = s.abs(dir)
	return server.WriteOutside(f, e)
}
