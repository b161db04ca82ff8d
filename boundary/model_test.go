package boundary

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The model is the dialect of the package comment, word for word and slow: every way
// of cutting a path is tried.

func modelMatch(pattern, path []string) bool {
	if len(pattern) == 0 {
		return len(path) == 0
	}
	if pattern[0] == "**" {
		return modelMatch(pattern[1:], path) || (len(path) > 0 && modelMatch(pattern, path[1:]))
	}
	return len(path) > 0 && modelSegment(pattern[0], path[0]) && modelMatch(pattern[1:], path[1:])
}

// modelSegment matches one segment: code point by code point, and byte by byte what is
// no UTF-8.
func modelSegment(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		_, size := utf8.DecodeRuneInString(name)
		return modelSegment(pattern[1:], name) || (name != "" && modelSegment(pattern, name[size:]))
	}
	if name == "" {
		return false
	}
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return modelSegment(pattern[1:], name[size:])
	case '[':
		end := strings.IndexByte(pattern, ']')
		return modelClass(pattern[1:end], r) && modelSegment(pattern[end+1:], name[size:])
	}
	_, taken := utf8.DecodeRuneInString(pattern)
	return strings.HasPrefix(name, pattern[:taken]) && modelSegment(pattern[taken:], name[taken:])
}

// modelClass tells whether the inside of a class takes a code point.
func modelClass(class string, r rune) bool {
	if strings.HasPrefix(class, "^") || strings.HasPrefix(class, "!") {
		return !modelClass("\x00"+class[1:], r) // what follows is no second negation
	}
	members := []rune(strings.TrimPrefix(class, "\x00"))
	for i := 0; i < len(members); i++ {
		if i+2 < len(members) && members[i+1] == '-' {
			if members[i] <= r && r <= members[i+2] {
				return true
			}
			i += 2
		} else if members[i] == r {
			return true
		}
	}
	return false
}

// modelDenies tells whether a denial refuses a path: its pattern matches the path, or
// one of the forms that fold gives. It tries every way of giving code points to the parts of
// a segment.
func modelDenies(pattern, path string) bool {
	segments := strings.Split(path, "/")
	if modelMatch(strings.Split(pattern, "/"), segments) {
		return true
	}
	folded, trimmed := []string{}, []string{}
	for _, s := range segments {
		folded = append(folded, fold(s))
		short := fold(s)
		for strings.HasSuffix(short, ".") || strings.HasSuffix(short, " ") {
			short = short[:len(short)-1]
		}
		if short == "" {
			short = fold(s)
		}
		trimmed = append(trimmed, short)
	}
	return modelLoose(strings.Split(pattern, "/"), folded) || modelLoose(strings.Split(pattern, "/"), trimmed)
}

func modelLoose(pattern, folded []string) bool {
	if len(pattern) == 0 {
		return len(folded) == 0
	}
	if pattern[0] == "**" {
		return modelLoose(pattern[1:], folded) || (len(folded) > 0 && modelLoose(pattern, folded[1:]))
	}
	return len(folded) > 0 && modelLooseSegment(pattern[0], folded[0]) && modelLoose(pattern[1:], folded[1:])
}

func modelLooseSegment(pattern, folded string) bool {
	if pattern == "" {
		return folded == ""
	}
	end := strings.IndexAny(pattern, "*?[")
	if end < 0 {
		return fold(pattern) == folded
	}
	if end > 0 {
		rest, ok := strings.CutPrefix(folded, fold(pattern[:end]))
		return ok && modelLooseSegment(pattern[end:], rest)
	}
	if pattern[0] == '*' {
		for cut := range folded {
			if modelLooseSegment(pattern[1:], folded[cut:]) {
				return true
			}
		}
		return modelLooseSegment(pattern[1:], "")
	}
	end = 1
	if pattern[0] == '[' {
		end = strings.IndexByte(pattern, ']') + 1
	}
	for _, cut := range modelCharacters(folded) {
		taken := pattern[0] == '?'
		if form := norm.NFC.String(folded[:cut]); !taken && utf8.RuneCountInString(form) == 1 {
			r, _ := utf8.DecodeRuneInString(form)
			for again := r; ; {
				taken = taken || modelClass(pattern[1:end-1], again)
				if again = unicode.SimpleFold(again); again == r {
					break
				}
			}
		}
		if taken && modelLooseSegment(pattern[end:], folded[cut:]) {
			return true
		}
	}
	return false
}

// modelCharacters gives the ends of the first code point with none, some or all of the
// marks after it.
func modelCharacters(folded string) []int {
	if folded == "" {
		return nil
	}
	_, size := utf8.DecodeRuneInString(folded)
	ends := []int{size}
	for n := 0; n < maxMarks && size < len(folded); n++ {
		r, more := utf8.DecodeRuneInString(folded[size:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		size += more
		ends = append(ends, size)
	}
	return ends
}

// modelSize bounds what the model is asked: it takes exponential time.
func modelSize(pattern, path string) bool {
	return len(pattern) <= 24 && len(path) <= 24 && strings.Count(pattern, "*") <= 4
}

func fuzzSeeds(f *testing.F) {
	for _, pattern := range []string{"**/.env*", "src/export/**", "a/*/b", "[a-c]x", "[^é]?", "[!a]*", "**/*.pem", "e?x", "é*", "[", "a**", "[]a]", "[a-]", "[-a]", "ß/ſ"} {
		for _, path := range []string{".env", "a/.ENV.local", "src/export", "src/export/a/b", "b", "e\u0301x", "É/x", "\xffx", "a//b", "..", "a. ", "-", "SS/s", "\u200c.env"} {
			f.Add(pattern, path)
		}
	}
}

// FuzzMatchPattern compares what allows with the model.
func FuzzMatchPattern(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if CheckPattern(pattern) != nil || !isSegmented(path) {
			if MatchPattern(pattern, path) {
				t.Fatalf("malformed %q matches %q", pattern, path)
			}
			return
		}
		if !modelSize(pattern, path) {
			return
		}
		want := modelMatch(strings.Split(pattern, "/"), strings.Split(path, "/"))
		if got := MatchPattern(pattern, path); got != want {
			t.Fatalf("MatchPattern(%q, %q) = %v, the model says %v", pattern, path, got, want)
		}
		b, err := Parse([]string{pattern}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b.Allows(path) && !want {
			t.Fatalf("%q allows %q", pattern, path)
		}
	})
}

// FuzzDenial compares what denies with the model, and holds that no spelling of a path
// gets around a pattern that matches it.
func FuzzDenial(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if CheckPattern(pattern) != nil || !isSegmented(path) || !modelSize(pattern, path) {
			return
		}
		d := newDenial(pattern)
		if got, want := d.refuses(spell(path)), modelDenies(pattern, path); got != want {
			t.Fatalf("denial %q of %q: %v, the model says %v", pattern, path, got, want)
		}
		if !MatchPattern(pattern, path) {
			return
		}
		if !d.refuses(spell(path)) {
			t.Fatalf("%q matches %q and does not deny it", pattern, path)
		}
		for seed := range uint64(8) {
			if other := respelled(path, seed); other != "" && !d.refuses(spell(other)) {
				t.Fatalf("%q denies %q and not its spelling %q", pattern, path, other)
			}
		}
		if b, err := Parse([]string{"**"}, []string{pattern}); err != nil || b.Allows(path) {
			t.Fatalf("%q excluded and allowed, %v", path, err)
		}
	})
}

// respelled gives another spelling of a path: other cases, another Unicode form, code
// points that show nothing, dots and spaces at ends. "" where a letter of the path becomes
// several in some form, or the path holds what shows nothing or is dropped at the end of a
// name: a "?" counts those as written.
func respelled(path string, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 7))
	for segment := range strings.SplitSeq(path, "/") {
		if strings.TrimRight(segment, ". ") != segment {
			return ""
		}
	}
	var b strings.Builder
	for _, piece := range pieces(path) {
		r, size := utf8.DecodeRuneInString(piece)
		if r == utf8.RuneError && size <= 1 {
			b.WriteString(piece)
			continue
		}
		if norm.NFKD.String(piece) != norm.NFD.String(piece) || r == 'ß' || r == 'ẞ' || fold(piece) == "" {
			return ""
		}
		for range random.IntN(3) {
			r = unicode.SimpleFold(r)
		}
		b.WriteRune(r)
		if random.IntN(4) == 0 && r != '/' {
			b.WriteRune('\u200c')
		}
	}
	form := []norm.Form{norm.NFC, norm.NFD}[random.IntN(2)]
	segments := strings.Split(form.String(b.String()), "/")
	for i := range segments {
		if random.IntN(3) == 0 {
			segments[i] += []string{".", " ", ". ."}[random.IntN(3)]
		}
	}
	return strings.Join(segments, "/")
}

// TestDenialModel compares denials with the model on random patterns and paths over
// letters that have many spellings.
func TestDenialModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "A", "é", "e\u0301", "E", "s", "ſ", "K", "\u212a", "ß", ".", " ", "\u200c", "\xff", "/", "ı", "Σ", "ς"}
	wild := []string{"*", "?", "[a-e]", "[^a]", "[éſ]", "**/", "a", "É", "/", "s", "k", "σ", "."}
	pick := func(parts []string) string {
		text := ""
		for range 1 + random.IntN(6) {
			text += parts[random.IntN(len(parts))]
		}
		return text
	}
	denied, respellings := 0, 0
	for range 60_000 {
		pattern, path := pick(wild), pick(letters)
		if CheckPattern(pattern) != nil || !isSegmented(path) {
			continue
		}
		d := newDenial(pattern)
		want := modelDenies(pattern, path)
		if got := d.refuses(spell(path)); got != want {
			t.Fatalf("denial %q of %q: %v, the model says %v", pattern, path, got, want)
		}
		if want {
			denied++
		}
		if other := respelled(path, random.Uint64()); other != "" && MatchPattern(pattern, path) {
			respellings++
			if !d.refuses(spell(other)) {
				t.Fatalf("%q denies %q and not its spelling %q", pattern, path, other)
			}
		}
	}
	if denied < 1000 || respellings < 500 {
		t.Fatalf("%d denied, %d respelled: the comparison shows little", denied, respellings)
	}
}

// TestDenialSpellings: what is denied is denied in every spelling, and nothing else.
func TestDenialSpellings(t *testing.T) {
	b := parse(t, []string{"**"}, []string{"infra/**", "Straße/x", "naïve/*.go", "secret?.txt", "[k-m]ey"})
	for _, path := range []string{
		"infra/x", "INFRA/x", "Infra/x", "in\u200cfra/x", "infra./x", "infra /x", "infra. . /x", "ınfra/x", "ⓘnfra/x",
		"strasse/x", "STRASSE/X", "Straße/x", "na\u0131\u0308ve/a.go", "nai\u0308ve/a.GO", "NAÏVE/a.go", "naïve/表.go",
		"secret1.txt", "SECRETé.TXT", "secrete\u0301.txt", "Key", "\u212aey", "ⓚey",
	} {
		if rule, _ := b.Refusal(path); rule != RuleExcluded {
			t.Errorf("%q: %q, want excluded", path, rule)
		}
	}
	for _, path := range []string{"infrastructure/x", "infra2/x", "sub/infra/x", "strase/x", "naive/a.go", "naïve/a/b.go", "secret.txt", "secret12.txt", "hey", "keys"} {
		if !b.Allows(path) {
			t.Errorf("%q is denied", path)
		}
	}
}

// TestAllowIsStrict: an include opens the very bytes that it names.
func TestAllowIsStrict(t *testing.T) {
	b := parse(t, []string{"src/naïve/**", "src/Export/*.go"}, nil)
	for path, want := range map[string]bool{
		"src/naïve/a": true, "src/nai\u0308ve/a": false, "src/NAÏVE/a": false, "src/naïve./a": false, "src/naïve /a": false, "src/na\u200cïve/a": false,
		"src/Export/a.go": true, "src/export/a.go": false, "src/Export/a.GO": false, "src/Export/a.go.": false, "src/Export/a.go ": false,
	} {
		if b.Allows(path) != want {
			t.Errorf("Allows(%q) = %v", path, !want)
		}
	}
}

// TestPatternsTakeBoundedTime: patterns and paths at their limits, made to be slow.
func TestPatternsTakeBoundedTime(t *testing.T) {
	stars := strings.Repeat("*a", MaxPatternBytes/2-2) + "*b"
	folders := strings.TrimSuffix(strings.Repeat("**/a/", MaxPatternBytes/5-1), "/") + "/b"
	marks := "x" + strings.Repeat("\u0301", 2000)
	for pattern, path := range map[string]string{
		stars: strings.Repeat("a", 4096), folders: strings.TrimSuffix(strings.Repeat("a/", 2048), "/"),
		strings.Repeat("?", 400) + "b": marks, strings.Repeat("[^a]", 100) + "b": marks,
	} {
		if err := CheckPattern(pattern); err != nil {
			t.Fatal(err)
		}
		if MatchPattern(pattern, path) || deniedBy(pattern, spell(path)) {
			t.Errorf("a pattern of %d bytes matches", len(pattern))
		}
	}
	many := make([]string, MaxPatterns)
	for i := range many {
		many[i] = strings.Repeat("*a", i%100) + string(rune('b'+i%20)) + strings.Repeat("c", i)
	}
	slices.Sort(many)
	if b, err := Parse([]string{"**"}, many); err != nil || !b.Allows(strings.Repeat("a", 1000)) {
		t.Errorf("many patterns: %v", err)
	}
}

// deniedBy tells whether a pattern denies a path.
func deniedBy(pattern string, path spelled) bool {
	d := newDenial(pattern)
	return d.refuses(path)
}
