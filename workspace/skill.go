package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"go.yaml.in/yaml/v4"
)

// ErrSkill reports an allowed skill whose content cannot be pinned.
var ErrSkill = errors.New("skill cannot be pinned")

const (
	skillFile     = "SKILL.md"
	maxSkillFile  = 1 << 20
	maxFront      = 16 << 10
	noVersion     = "unversioned"
	maxSkillFiles = 10_000
)

// Skills reads the skills that a policy allows from a commit, sorted by name: name,
// version, and the digest of all files of the skill. Other skills are not there, and one
// that is allowed and not in the commit is left out. A skill is instructions: nothing
// that it says of itself gives a right.
//
// The digest is [CombineDigests] over the paths below the skill's folder. A skill is
// refused with [ErrSkill] when it is in two roots, holds a submodule or a link that leads
// out of its folder, or is no folder with a SKILL.md.
func (r *Repo) Skills(ctx context.Context, commit string, p CapturePolicy) ([]events.Tool, error) {
	if len(p.Skills) == 0 {
		return nil, nil
	}
	id, err := r.ResolveCommit(ctx, commit)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, root := range p.SkillRoots {
		for _, name := range p.Skills {
			folders = append(folders, root+"/"+name)
		}
	}
	tree, err := r.treeOf(ctx, id, folders...)
	if err != nil {
		return nil, err
	}
	var found []events.Tool
	for _, name := range slices.Sorted(slices.Values(p.Skills)) {
		skill, err := r.skill(ctx, tree, p.SkillRoots, name)
		if err != nil {
			return nil, fmt.Errorf("read skill %s: %w", name, err)
		}
		if skill != nil {
			found = append(found, *skill)
		}
	}
	return found, nil
}

// skill reads one skill of a tree, nil where it is in no root.
func (r *Repo) skill(ctx context.Context, tree []treeEntry, roots []string, name string) (*events.Tool, error) {
	var files []treeEntry
	folder := ""
	for _, root := range roots {
		for _, entry := range tree {
			switch at := root + "/" + name; {
			case entry.path == at:
				return nil, fmt.Errorf("%w: %s is no folder", ErrSkill, boundary.DisplayPath(at))
			case !within(entry.path, at):
			case folder != "" && folder != at:
				return nil, fmt.Errorf("%w: it is in %s and in %s", ErrSkill, boundary.DisplayPath(folder), boundary.DisplayPath(at))
			default:
				folder, files = at, append(files, entry)
			}
		}
	}
	if folder == "" {
		return nil, nil
	}
	if len(files) > maxSkillFiles {
		return nil, fmt.Errorf("%w: %d files, limit %d", ErrSkill, len(files), maxSkillFiles)
	}
	if err := r.closedSkill(ctx, folder, files); err != nil {
		return nil, err
	}
	digests, err := r.digests(ctx, files)
	if err != nil {
		return nil, err
	}
	for i := range digests {
		digests[i].Path = digests[i].Path[len(folder)+1:]
	}
	version, err := r.skillVersion(ctx, folder, files)
	return &events.Tool{Name: name, Version: version, Digest: CombineDigests(digests)}, err
}

// closedSkill refuses content that the digest would not cover.
func (r *Repo) closedSkill(ctx context.Context, folder string, files []treeEntry) error {
	links := map[string]string{}
	for _, entry := range files {
		if entry.kind != "blob" {
			return fmt.Errorf("%w: %s is a repository of its own", ErrSkill, boundary.DisplayPath(entry.path))
		}
		if entry.mode == ModeLink {
			links[entry.path] = ""
		}
	}
	list := slices.DeleteFunc(slices.Clone(files), func(e treeEntry) bool { return e.mode != ModeLink })
	err := r.eachObject(ctx, list, func(entry treeEntry, content io.Reader) error {
		target, err := io.ReadAll(io.LimitReader(content, maxLinkBytes))
		links[entry.path] = string(target)
		return err
	})
	if err != nil {
		return err
	}
	for _, entry := range list {
		leads, err := followLink(entry.path, func(path string) (string, bool, error) {
			target, ok := links[path]
			return target, ok, nil
		})
		if err != nil || !within(leads, folder) {
			return fmt.Errorf("%w: link %s leads out of it", ErrSkill, boundary.DisplayPath(entry.path))
		}
	}
	return nil
}

// skillVersion reads the version that a skill states.
func (r *Repo) skillVersion(ctx context.Context, folder string, files []treeEntry) (string, error) {
	i := slices.IndexFunc(files, func(e treeEntry) bool { return e.path == folder+"/"+skillFile && isFile(e.mode) })
	if i < 0 {
		return "", fmt.Errorf("%w: it has no %s", ErrSkill, skillFile)
	}
	var text []byte
	err := r.eachObject(ctx, files[i:i+1], func(_ treeEntry, content io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(content, maxSkillFile))
		return err
	})
	return frontVersion(text), err
}

// frontVersion reads "version", else "metadata.version", from the YAML between the two
// lines "---" at the start of a SKILL.md. What is not there, or no plain line, is
// "unversioned": the digest says what the skill is.
func frontVersion(text []byte) string {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	front, _, closed := bytes.Cut(rest, []byte("\n---"))
	if !ok || !closed || len(front) > maxFront || !utf8.Valid(front) {
		return noVersion
	}
	var root yaml.Node
	if err := yaml.Load(front, &root); err != nil {
		return noVersion
	}
	n := &root
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	version := scalarOf(n, "version")
	if version == "" {
		version = scalarOf(memberOf(n, "metadata"), "version")
	}
	if version == "" || len(version) > 64 || strings.ContainsFunc(version, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return noVersion
	}
	return version
}

// memberOf gives a member of a mapping, nil where there is none.
func memberOf(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalarOf(n *yaml.Node, name string) string {
	if m := memberOf(n, name); m != nil && m.Kind == yaml.ScalarNode {
		return m.Value
	}
	return ""
}
