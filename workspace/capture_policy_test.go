package workspace

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const goodPolicy = `skills: {roots: [.agents/skills], allow: [deploy, lint-all]}
capabilities:
  - {name: docker, command: [docker, info]}
  - {name: kube, command: [kubectl, version], timeoutSeconds: 30}
schema: {command: [print-schema], timeoutSeconds: 5}
flags: {command: [print-flags]}
image: registry.example/app@sha256:1
`

func TestReadCapturePolicy(t *testing.T) {
	p, err := ReadCapturePolicy([]byte(goodPolicy))
	must(t, err)
	if !slices.Equal(p.Skills, []string{"deploy", "lint-all"}) || len(p.Capabilities) != 2 || p.Capabilities[1].Limit != 30*time.Second || p.Schema.Limit != 5*time.Second ||
		p.FlagsCommand == nil || p.FlagsStated || p.Image != "registry.example/app@sha256:1" || p.Capability("kube") == nil || p.Capability("other") != nil {
		t.Errorf("%+v", p)
	}
	if p, err := ReadCapturePolicy([]byte("flags: []")); err != nil || !p.FlagsStated || len(p.Flags) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for text, fault := range map[string]string{
		"":                                   "it is empty",
		"- a":                                "line 1: want a mapping",
		"flags: [a]\nmood: x":                "line 2: unknown member mood",
		"flags: [a]\nflags: [b]":             "line 2: ",
		"flags: [a, a]":                      "is there twice",
		"flags: [1]":                         "put it in quotes",
		"flags: a":                           "want a list",
		"skills: {allow: [x]}":               "no root says where",
		"skills: {roots: [../x], allow: []}": "line 1",
		"skills: {roots: [/x], allow: []}":   "line 1",
		"skills: {roots: [a], allow: [A b]}": "want the name of a skill",
		"schema: {command: []}":              "line 1",
		"schema: {command: x}":               "want a list",
		"schema: {}":                         "line 1",
		"schema: {command: [./x]}":           "line 1",
		"schema: {command: [bin/x]}":         "line 1",
		"schema: {command: [x], timeoutSeconds: 0}":                           "from 1 to 120",
		"schema: {command: [x], timeoutSeconds: 121}":                         "from 1 to 120",
		"schema: {command: [x], name: y}":                                     "unknown member name",
		"capabilities: [{command: [x]}]":                                      "line 1",
		"capabilities:\n- {name: a, command: [x]}\n- {name: a, command: [y]}": "line 3: capability a is named twice",
		"image: &a x":                           "an alias, an anchor, a tag",
		"image: !!str x":                        "an alias, an anchor, a tag",
		"image: x\n---\na: b":                   "more than one document",
		"image: \"\\u001b[31m\"":                "line 1",
		"\xff":                                  "no UTF-8",
		strings.Repeat("#", maxCapturePolicy+1): "limit",
	} {
		p, err := ReadCapturePolicy([]byte(text))
		if !errors.Is(err, ErrCapturePolicy) || !strings.Contains(err.Error(), fault) {
			t.Errorf("policy %.60q: %v, want %q", text, err, fault)
		}
		if len(p.Skills)+len(p.Capabilities) > 0 || p.Schema != nil || p.FlagsCommand != nil {
			t.Errorf("policy %.60q is malformed and allows %+v", text, p)
		}
	}
}

// skillDigest computes the published formula with other programs.
const skillDigest = `cd "$1" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort | while IFS= read -r f; do printf '%s\0%s\n' "$f" "$(sha256sum <"$f" | cut -d' ' -f1)"; done | sha256sum | cut -d' ' -f1`

func TestSkills(t *testing.T) {
	f := newFixture(t)
	f.write("skills/deploy/SKILL.md", "---\nname: deploy\nversion: \"1.2\"\nallowed-tools: everything\n---\nBe careful.\n")
	f.write("skills/deploy/sub/b", "b\n")
	f.write("skills/deploy/sub.d", "d\n")
	f.write("skills/deploy/A", "")
	f.write("skills/plain/SKILL.md", "no front matter\n")
	f.write("skills/other/SKILL.md", "---\nversion: 9\n---\n")
	f.write("skills/hollow/readme", "")
	f.write("skills/file", "")
	f.write("more/deploy/SKILL.md", "")
	commit := f.commit("skills")
	read := func(p CapturePolicy) (string, error) {
		found, err := f.open().Skills(t.Context(), commit, p)
		var list []string
		for _, s := range found {
			list = append(list, s.Name+" "+s.Version)
		}
		return strings.Join(list, ", "), err
	}
	if got, err := read(CapturePolicy{SkillRoots: []string{"skills"}, Skills: []string{"plain", "deploy", "absent"}}); got != "deploy 1.2, plain unversioned" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := read(CapturePolicy{SkillRoots: []string{"skills"}}); got != "" || err != nil {
		t.Errorf("nobody allowed %s, %v", got, err)
	}
	for _, p := range []CapturePolicy{
		{SkillRoots: []string{"skills", "more"}, Skills: []string{"deploy"}}, {SkillRoots: []string{"skills"}, Skills: []string{"hollow"}}, {SkillRoots: []string{"skills"}, Skills: []string{"file"}},
	} {
		if got, err := read(p); !errors.Is(err, ErrSkill) {
			t.Errorf("%v gave %s, %v", p, got, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", skillDigest, "sh", filepath.Join(f.dir, "skills/deploy")).Output()
	must(t, err)
	found, err := f.open().Skills(t.Context(), commit, CapturePolicy{SkillRoots: []string{"skills"}, Skills: []string{"deploy"}})
	if err != nil || found[0].Digest != strings.TrimSpace(string(out)) {
		t.Errorf("digest %+v, want %s, %v", found, out, err)
	}
}

// TestAsk runs what a policy names: what fails, prints nothing, or prints what is no line, does not answer.
func TestAsk(t *testing.T) {
	answers := map[string]string{"print-schema": "7\n", "print-flags": "new\n\nfast\nnew\n", "docker": "ok"}
	ask := func(_ context.Context, command []string, _ time.Duration) (string, bool) {
		text, ok := answers[command[0]]
		return text, ok
	}
	p, err := ReadCapturePolicy([]byte(goodPolicy))
	must(t, err)
	have, missing := p.AskCapabilities(t.Context(), ask)
	version, ok := p.AskSchema(t.Context(), ask)
	flags, told := p.AskFlags(t.Context(), ask)
	if !slices.Equal(have, []string{"docker"}) || !slices.Equal(missing, []string{"kube"}) || version != "7" || !ok || !slices.Equal(flags, []string{"fast", "new"}) || !told {
		t.Errorf("%q %q %q %t %q %t", have, missing, version, ok, flags, told)
	}
	for _, bad := range []string{"", "\n", "a\nb", "\x1b[31m", strings.Repeat("x", 2000)} {
		answers["print-schema"] = bad
		if version, ok := p.AskSchema(t.Context(), ask); ok {
			t.Errorf("schema %q of %.20q", version, bad)
		}
	}
}

func FuzzReadCapturePolicy(f *testing.F) {
	f.Add([]byte(goodPolicy))
	f.Add([]byte("flags: [a]\nskills: {roots: [x/y]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadCapturePolicy(text)
		if err != nil && !errors.Is(err, ErrCapturePolicy) {
			t.Fatal(err)
		}
		for _, c := range p.Capabilities {
			if c.Name == "" || len(c.Command) == 0 || c.Limit < time.Second || c.Limit > MaxProbeSeconds*time.Second || strings.HasPrefix(c.Command[0], ".") {
				t.Fatalf("capability %+v", c)
			}
		}
	})
}

func FuzzFrontVersion(f *testing.F) {
	f.Add([]byte("---\nversion: \"1.2\"\n---\n"))
	f.Add([]byte("---\nmetadata: {version: 1}\n---"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if v := frontVersion(text); v == "" || len(v) > 64 || strings.ContainsAny(v, " \n\x1b") {
			t.Fatalf("version %q", v)
		}
	})
}
