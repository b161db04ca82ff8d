package projections

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// Actor is a key holder as the registry knows it.
type Actor struct {
	Name          string        `json:"actor"`
	Kind          events.Kind   `json:"kind"`
	Principal     string        `json:"principal"`
	Roles         []events.Role `json:"roles"`
	GitIdentities []string      `json:"gitIdentities,omitempty"`
	// TokenHash is the digest of the open invitation's token, "" once claimed.
	TokenHash string `json:"tokenHash,omitempty"`
	Expires   string `json:"expires,omitempty"`
	// Keys are the texts of the actor's public keys, in order of claiming.
	Keys    []string        `json:"keys,omitempty"`
	Since   events.Position `json:"since"`
	Revoked events.Position `json:"revoked,omitzero"`
	// ValidUntil is when the service revokes the actor, by time of admission.
	ValidUntil string `json:"validUntil,omitempty"`
	// Ended are the keys that sign nothing more, in order of history.
	Ended []EndedKey `json:"ended,omitempty"`
}

// Has reports whether the actor holds the role.
func (a *Actor) Has(role events.Role) bool { return slices.Contains(a.Roles, role) }

// Registry is a ledger's authority, folded from its registry source.
type Registry struct {
	Genesis events.Genesis `json:"genesis"`
	// Identity is the eventhash of the genesis event.
	Identity string `json:"identity"`
	// Policy is the digest of the policy in force: of genesis' text, or of the
	// data of the last policy.published.
	Policy string `json:"policy"`
	// Published is the policy in force, nil while only genesis' text is.
	Published *Published `json:"published,omitempty"`
	// Rules is the version that rules.upgraded switched to, 0 = genesis'.
	Rules int64 `json:"rules,omitzero"`
	// Frozen says that, and why, the ledger takes almost nothing.
	Frozen *Frozen `json:"frozen,omitempty"`
	// Quarantines are in order of history; one of an extent at a time.
	Quarantines []Quarantine `json:"quarantines,omitempty"`

	Sequence uint64          `json:"sequence"`
	Head     string          `json:"head"`
	Position events.Position `json:"position"`
	Blocked  *Block          `json:"blocked,omitempty"`

	// Actors is sorted by name.
	Actors []*Actor `json:"actors"`
	// Compromises are in order of history.
	Compromises []Compromise `json:"compromises,omitempty"`
}

// Actor returns the named actor, nil when there is none.
func (g *Registry) Actor(name string) *Actor {
	i, found := g.search(name)
	if !found {
		return nil
	}
	return g.Actors[i]
}

func (g *Registry) search(name string) (int, bool) {
	return slices.BinarySearchFunc(g.Actors, name, func(a *Actor, name string) int {
		switch {
		case a.Name < name:
			return -1
		case a.Name > name:
			return 1
		}
		return 0
	})
}

// GitIdentity returns the address under which Deed commits for an actor: its
// first git identity, else one that no mail can reach and that is the actor's
// alone.
func (g *Registry) GitIdentity(a *Actor) string {
	if len(a.GitIdentities) > 0 {
		return a.GitIdentities[0]
	}
	return g.ownAddress(a)
}

func (g *Registry) ownAddress(a *Actor) string { return a.Name + "@" + g.Genesis.Name + ".invalid" }

// ByGitIdentity returns the actors that commit under the e-mail address. The
// address that an actor had before an admin named one stays its own: else the
// naming would hide whose the earlier commits are.
// ASCII letters of either case are the same: mail does not tell them apart,
// and whoever commits chooses the spelling.
func (g *Registry) ByGitIdentity(email string) []*Actor {
	var found []*Actor
	for _, a := range g.Actors {
		same := func(own string) bool { return foldCase(own) == foldCase(email) }
		if slices.ContainsFunc(a.GitIdentities, same) || same(g.ownAddress(a)) {
			found = append(found, a)
		}
	}
	return found
}

// foldCase lowers ASCII letters and nothing else, so that no version of Unicode
// changes a replay.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Digest returns the SHA-256 of the registry's RFC 8785 form.
func (g *Registry) Digest() (events.Hash, error) { return events.DigestOf(g) }

// Apply folds one record of the registry source. On an error nothing but
// Blocked has changed; on ErrDuplicate not even that.
func (g *Registry) Apply(r events.Record) error {
	if duplicate(r, g.Position, g.Head) {
		return fmt.Errorf("apply position %d to registry: %w", r.Position, ErrDuplicate)
	}
	if g.Blocked != nil {
		return fmt.Errorf("apply to registry: %w at position %d", ErrBlocked, g.Blocked.Position)
	}
	p, err := g.check(r)
	if err != nil {
		g.Blocked = &Block{Position: r.Position, Reason: err.Error()}
		return fmt.Errorf("apply position %d to registry: %w", r.Position, err)
	}
	switch d := p.(type) {
	case *events.Genesis:
		g.found(r, d)
	default:
		g.applyKeys(r, p)
		g.steer(r, p)
	}
	g.Sequence, g.Head, g.Position = r.Event.Sequence, r.Event.Hash().String(), r.Position
	return nil
}

// check holds a record against the chain and what its data builds on.
func (g *Registry) check(r events.Record) (events.Payload, error) {
	head := g.Head
	if g.Sequence == 0 {
		head = events.Hash{}.String()
	}
	if err := chain(r.Event, g.Sequence, head); err != nil {
		return nil, err
	}
	p, err := r.Event.Payload()
	if err != nil {
		return nil, err
	}
	_, first := p.(*events.Genesis)
	if first != (g.Sequence == 0) {
		return nil, fmt.Errorf("%w: a registry starts with one %s", ErrChain, events.LedgerCreated.Short())
	}
	if err := g.checkKeys(p); err != nil {
		return nil, err
	}
	return p, g.checkSteering(p)
}

func (g *Registry) found(r events.Record, d *events.Genesis) {
	g.Genesis, g.Identity, g.Policy = *d, r.Event.Hash().String(), events.Sum([]byte(d.Policy)).String()
	for _, a := range d.Admins {
		g.put(&Actor{Name: a.Actor, Kind: events.KindHuman, Principal: a.Principal, Roles: a.Roles, Keys: []string{a.Key}, Since: r.Position})
	}
	g.put(&Actor{Name: d.Service.Actor, Kind: events.KindService, Principal: d.Service.Actor, Roles: []events.Role{events.RoleService}, Keys: []string{d.Service.Key}, Since: r.Position})
}

// put adds an actor, or replaces an open invitation of the same name.
func (g *Registry) put(a *Actor) {
	i, found := g.search(a.Name)
	if found {
		g.Actors[i] = a
		return
	}
	g.Actors = slices.Insert(g.Actors, i, a)
}
