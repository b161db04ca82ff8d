package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/workspace"
	"go.yaml.in/yaml/v4"
)

// Limits and defaults of a draft.
const (
	maxDraft       = 256 << 10 // bytes
	defaultTimeout = 600       // seconds of a check
	healthTimeout  = 10        // seconds of a service's health check
	defaultRepairs = 5
	defaultStalls  = 3
)

// contractDraft is a contract as people write it, in YAML or JSON. What has a
// default may be left out; paths are as git prints them, unencoded.
type contractDraft struct {
	Version    int64       `yaml:"version"`
	Goal       string      `yaml:"goal"`
	NonGoals   []string    `yaml:"nonGoals"`
	Acceptance []itemDraft `yaml:"acceptance"`
	RiskTier   string      `yaml:"riskTier"`
	Owners     ownersDraft `yaml:"owners"`
	Scope      scopeDraft  `yaml:"scope"`
	Target     string      `yaml:"target"`
	Reviewers  []string    `yaml:"reviewers"`
	Quorum     int64       `yaml:"quorum"`
	MaxRepairs *int64      `yaml:"maxRepairs"`
	MaxStalls  *int64      `yaml:"maxStalls"`
	Expires    string      `yaml:"expires"`
	Parent     string      `yaml:"parent"`
	Services   []struct {
		Name           string   `yaml:"name"`
		Command        []string `yaml:"command"`
		TimeoutSeconds *int64   `yaml:"timeoutSeconds"`
	} `yaml:"services"`
}

type itemDraft struct {
	ID       string       `yaml:"id"`
	Text     string       `yaml:"text"`
	Required *bool        `yaml:"required"`
	Evidence string       `yaml:"evidence"`
	Checks   []checkDraft `yaml:"checks"`
}

type checkDraft struct {
	ID             string      `yaml:"id"`
	Command        []string    `yaml:"command"`
	Dir            string      `yaml:"dir"`
	Files          []fileDraft `yaml:"files"`
	TimeoutSeconds *int64      `yaml:"timeoutSeconds"`
	Report         *struct {
		Format string `yaml:"format"`
		Path   string `yaml:"path"`
	} `yaml:"report"`
	Skips []string `yaml:"skips"`
}

type ownersDraft struct {
	Product string `yaml:"product"`
	Code    string `yaml:"code"`
	Test    string `yaml:"test"`
	Release string `yaml:"release"`
}

type scopeDraft struct {
	Include  []string            `yaml:"include"`
	Exclude  []string            `yaml:"exclude"`
	Commands []string            `yaml:"commands"`
	Effects  []events.EffectKind `yaml:"effects"`
}

// fileDraft is a check's own file: a path, or a path with its digest.
type fileDraft struct {
	Path   string `yaml:"path"`
	Digest string `yaml:"digest"`
}

// UnmarshalYAML takes a path alone as well.
func (f *fileDraft) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Load(&f.Path)
	}
	type members fileDraft
	return n.Load((*members)(f), yaml.WithKnownFields())
}

// parseDraft reads one YAML or JSON document. Unknown and repeated members, a
// second document and wrong types are refused with their line; the errors wrap
// events.ErrData.
func parseDraft(text []byte) (contractDraft, error) {
	var d contractDraft
	err := oneDocument(text, &d)
	return d, err
}

// oneDocument reads one YAML or JSON document into d, as parseDraft says.
func oneDocument(text []byte, d any) error {
	if len(text) > maxDraft {
		return fmt.Errorf("%w: draft of %d bytes, limit %d", events.ErrData, len(text), maxDraft)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithKnownFields(), yaml.WithUniqueKeys())
	if err != nil {
		return fmt.Errorf("read draft: %w", err)
	}
	if err := loader.Load(d); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return fmt.Errorf("%w: read draft: %w", events.ErrData, err)
	}
	var more any
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: read draft: there is more than one document", events.ErrData)
	}
	return nil
}

// contract returns the contract of a draft with its defaults filled in: owner
// answers for what names nobody, and the files of checks are pinned to their
// bytes in the commit that is checked out in dir.
func (d contractDraft) contract(ctx context.Context, dir, owner string) (events.Contract, error) {
	c := events.Contract{
		Version: d.Version, Goal: strings.TrimSpace(d.Goal), NonGoals: d.NonGoals, RiskTier: first(d.RiskTier, "code"),
		Owners: events.Owners{Product: first(d.Owners.Product, owner), Code: d.Owners.Code, Test: d.Owners.Test, Release: d.Owners.Release},
		Scope:  events.Scope{Include: d.Scope.Include, Exclude: d.Scope.Exclude, Commands: d.Scope.Commands, Effects: d.Scope.Effects},
		Target: first(d.Target, "main"), Reviewers: slices.Sorted(slices.Values(d.Reviewers)), Quorum: max(d.Quorum, 1),
		MaxRepairs: orElse(d.MaxRepairs, defaultRepairs), MaxStalls: orElse(d.MaxStalls, defaultStalls), Expires: d.Expires, Parent: d.Parent,
	}
	if err := checkScope(c.Scope); err != nil {
		return c, fmt.Errorf("%w: scope: %w", events.ErrData, err)
	}
	for _, service := range d.Services {
		c.Services = append(c.Services, events.Service{
			Name: service.Name, Command: service.Command, TimeoutSeconds: orElse(service.TimeoutSeconds, healthTimeout),
		})
	}
	pins := &pinner{dir: dir}
	for _, item := range d.Acceptance {
		i := events.Item{ID: item.ID, Text: strings.TrimSpace(item.Text), Required: orElse(item.Required, true), Evidence: first(item.Evidence, "test")}
		for n, check := range item.Checks {
			made, err := check.check(ctx, pins)
			if err != nil {
				return c, fmt.Errorf("check %d of item %s: %w", n+1, plain(item.ID), err)
			}
			if made.ID == "" {
				made.ID = item.ID + "-" + strconv.Itoa(n+1)
			}
			i.Checks = append(i.Checks, made)
		}
		c.Acceptance = append(c.Acceptance, i)
	}
	return c, nil
}

// orElse returns what p points to, or a default.
func orElse[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

func (d checkDraft) check(ctx context.Context, pins *pinner) (events.Check, error) {
	c := events.Check{ID: d.ID, Command: d.Command, TimeoutSeconds: orElse(d.TimeoutSeconds, defaultTimeout)}
	if d.Dir != "" && d.Dir != "." {
		dir, err := boundary.CleanPath(d.Dir)
		if err != nil {
			return c, fmt.Errorf("dir: %w", err)
		}
		c.Dir = boundary.EncodePath(dir)
	}
	c.Skips = slices.Compact(slices.Sorted(slices.Values(d.Skips)))
	if d.Report != nil {
		c.Report = &events.ReportRef{Format: d.Report.Format, Path: "-"}
		if d.Report.Path != "-" {
			path, err := boundary.CleanPath(d.Report.Path)
			if err != nil {
				return c, fmt.Errorf("report: %w", err)
			}
			c.Report.Path = boundary.EncodePath(path)
		}
	}
	for _, f := range d.Files {
		path, err := boundary.CleanPath(f.Path)
		if err != nil {
			return c, fmt.Errorf("file: %w", err)
		}
		digest := f.Digest
		if digest == "" {
			if digest, err = pins.digest(ctx, path); err != nil {
				return c, err
			}
		}
		c.Files = append(c.Files, events.PinnedFile{Path: boundary.EncodePath(path), Digest: digest})
	}
	slices.SortFunc(c.Files, func(a, b events.PinnedFile) int { return strings.Compare(a.Path, b.Path) })
	return c, nil
}

// pinner gives the digests of files as they are committed. The verifier runs a
// clean checkout, so bytes that are in no commit could never be found there.
type pinner struct {
	dir   string
	repo  *workspace.Repo
	head  string
	dirty []string
}

func (p *pinner) open(ctx context.Context) error {
	if p.repo != nil {
		return nil
	}
	repo, err := workspace.Open(ctx, p.dir)
	if err != nil {
		return err
	}
	if p.head, err = repo.Head(ctx); err != nil {
		return err
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	p.repo, p.dirty = repo, dirty.Paths()
	return nil
}

// digest returns the SHA-256 of a file in the checked-out commit. A file with
// uncommitted changes, or in no commit, is refused.
func (p *pinner) digest(ctx context.Context, path string) (string, error) {
	if err := p.open(ctx); err != nil {
		return "", fmt.Errorf("pin %s: %w", boundary.DisplayPath(path), err)
	}
	if slices.Contains(p.dirty, path) {
		return "", withHint(refuse(ledger.CodeRule, "contract.proposed/pinned", "%s has uncommitted changes", boundary.DisplayPath(path)), "commit the check first, or give the file's digest in the draft: {path: PATH, digest: SHA256}")
	}
	digest, err := p.repo.BlobDigest(ctx, p.head, path)
	if errors.Is(err, workspace.ErrNoSuchFile) {
		return "", fmt.Errorf("%w: pin %s: the checked-out commit has no such file", errMissing, boundary.DisplayPath(path))
	}
	if err != nil {
		return "", fmt.Errorf("pin %s: %w", boundary.DisplayPath(path), err)
	}
	return digest, nil
}
