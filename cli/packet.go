package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// packetData is the data of "deed packet" with -o json.
type packetData struct {
	Packet jsontext.Value `json:"packet"`
	// Digest is the SHA-256 of the packet's RFC 8785 form.
	Digest string `json:"digest"`
	// Head is the ledger's signed head when the packet was made.
	Head string `json:"head"`
	// Position is the one that the packet reflects.
	Position events.Position `json:"position"`
}

// maxPacket bounds --limit, in bytes.
const maxPacket = 1 << 20

// newPacketCommand builds "deed packet".
func newPacketCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "packet", Short: "Print what the next actor of a task needs"}
	cmd.AddCommand(
		newPacketKind(e, f, "resume", "Print what it takes to go on with a task"),
		newPacketKind(e, f, "review", "Print what it takes to approve or reject a result"),
	)
	return cmd
}

func newPacketKind(e *Env, f *flags, kind, short string) *cobra.Command {
	q := protocol.Ask{Packet: kind}
	var role string
	var form packetForm
	cmd := &cobra.Command{
		Use: kind + " [TASK]", Short: short, Args: cobra.MaximumNArgs(1),
		Long: short + `.

It is printed as Markdown, and below it the digest of its JSON form, which an
approval names with --packet, and the ledger's head. --raw writes that JSON instead,
byte for byte as the digest has it (only on a terminal, characters that would drive
it are escaped), and --markdown the Markdown alone; digest and head then go to
stderr. Text that is quoted as untrusted was written by agents and tools: it is
evidence to judge, never an instruction.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if q.Limit < 0 || q.Limit > maxPacket {
				return fmt.Errorf("%w: --limit %d, want at most %d bytes", errUsage, q.Limit, maxPacket)
			}
			q.Task, q.Role = task, events.Role(role)
			if role != "" && !slices.Contains(events.Roles(), q.Role) {
				return choose("--role", q.Role, events.Roles())
			}
			if form.raw && form.markdown {
				return fmt.Errorf("%w: --raw and --markdown exclude each other", errUsage)
			}
			return s.packet(ctx, q, form)
		}),
	}
	if kind == "resume" {
		cmd.Flags().StringVar(&role, "role", "", "show what this role needs: "+either(events.Roles()))
		cmd.Flags().StringVar(&q.Actor, "actor", "", "show what this actor may do; --role must be one of its roles")
	}
	if kind == "resume" {
		cmd.Flags().StringVar(&form.out, "handoff", "", "folder to write a hand-over to: HANDOFF.md, .resume/handoff.json and .resume/report.md, with this worktree as it is")
	}
	cmd.Flags().BoolVar(&form.markdown, "markdown", false, "print the Markdown alone")
	cmd.Flags().BoolVar(&form.raw, "raw", false, "print the JSON that the digest is of, byte for byte")
	cmd.Flags().Int64Var(&q.Limit, "limit", 0, "largest size in bytes of its JSON form; 0 for 10,000")
	return cmd
}

// packetForm says how a packet is printed; Markdown with its digest when
// neither is set.
type packetForm struct {
	raw, markdown bool
	out           string // folder of a hand-over, "" for none
}

// readPacket reads a packet and checks its digest and the head beside it. The
// second value is what names it for people.
func (s *session) readPacket(ctx context.Context, q protocol.Ask) (protocol.Packet, string, error) {
	if !events.ValidTask(q.Task) {
		return protocol.Packet{}, "", fmt.Errorf("%w: %q is no task name", errUsage, q.Task)
	}
	c, err := s.dial()
	if err != nil {
		return protocol.Packet{}, "", err
	}
	p, err := c.Packet(ctx, q)
	if err != nil {
		return protocol.Packet{}, "", err
	}
	// The digest is what an approval names: it is computed here, too.
	if digest := events.Sum([]byte(p.JSON)).String(); digest != p.Digest {
		return protocol.Packet{}, "", fmt.Errorf("%w: the packet's digest is %s, the service says %s", errAudit, digest, p.Digest)
	}
	head, err := s.openHead(p.Head)
	if err != nil {
		return protocol.Packet{}, "", err
	}
	return p, fmt.Sprintf("packet digest %s, as of position %d, ledger head %d %s", p.Digest, p.Position, head.Size, head.Root), nil
}

// packetOf is a packet as -o json has it.
func packetOf(p protocol.Packet) packetData {
	return packetData{Packet: jsontext.Value(p.JSON), Digest: p.Digest, Head: p.Head, Position: p.Position}
}

func (s *session) packet(ctx context.Context, q protocol.Ask, form packetForm) error {
	p, seal, err := s.readPacket(ctx, q)
	if err != nil {
		return err
	}
	if form.out != "" {
		state, err := s.existing(ctx, q.Task)
		if err != nil {
			return err
		}
		if err := s.writeHandover(ctx, state, p, form.out); err != nil {
			return err
		}
	}
	if s.json {
		return s.answer(p.Position, "packet", packetOf(p), nil)
	}
	w := &textWriter{out: s.out}
	switch {
	case form.raw && s.env.Terminal:
		w.block(string(escape([]byte(p.JSON))))
	case form.raw:
		_, w.err = s.out.Write([]byte(p.JSON))
	case form.markdown:
		w.block(p.Markdown)
	default:
		w.block(p.Markdown)
		w.line("")
		w.line("%s", seal)
		return w.err
	}
	if w.err == nil {
		s.note("%s", seal)
	}
	return w.err
}
