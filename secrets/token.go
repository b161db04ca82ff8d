package secrets

import "strings"

// shape is how the tokens of an issuer look: a prefix, and a tail of an alphabet.
type shape struct {
	issuer   string
	prefix   string
	alphabet alphabet
	// The tail has at least min bytes; exactly so many where exact is set.
	min   int
	exact bool
	mixed bool // the tail has digits, and letters of both cases
}

// alphabet is a set of bytes.
type alphabet uint8

const (
	alnum   alphabet = iota // A-Z a-z 0-9
	wordy                   // alnum, _ and -
	dotted                  // wordy and .
	hexa                    // 0-9 a-f
	base32                  // A-Z 2-7
	upper32                 // A-Z 0-9
	base64s                 // alnum, + / - _
)

func (a alphabet) has(c byte) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch a {
	case hexa:
		return digit || 'a' <= c && c <= 'f'
	case base32:
		return upper || '2' <= c && c <= '7'
	case upper32:
		return upper || digit
	case wordy:
		return lower || upper || digit || c == '_' || c == '-'
	case dotted:
		return lower || upper || digit || c == '_' || c == '-' || c == '.'
	case base64s:
		return lower || upper || digit || strings.IndexByte("+/-_", c) >= 0
	default:
		return lower || upper || digit
	}
}

// shapes are the tokens whose issuers published how they look. Read-only.
var shapes = [...]shape{
	{issuer: "age", prefix: "AGE-SECRET-KEY-1", alphabet: upper32, min: 58},
	{issuer: "anthropic", prefix: "sk-ant-", alphabet: wordy, min: 24},
	{issuer: "atlassian", prefix: "ATATT3", alphabet: wordy, min: 40},
	{issuer: "aws", prefix: "AKIA", alphabet: base32, min: 16, exact: true},
	{issuer: "aws", prefix: "ASIA", alphabet: base32, min: 16, exact: true},
	{issuer: "aws", prefix: "ABIA", alphabet: base32, min: 16, exact: true},
	{issuer: "databricks", prefix: "dapi", alphabet: hexa, min: 32},
	{issuer: "deed", prefix: "deed-invite-", alphabet: wordy, min: 16},
	{issuer: "digitalocean", prefix: "dop_v1_", alphabet: hexa, min: 64},
	{issuer: "digitalocean", prefix: "doo_v1_", alphabet: hexa, min: 64},
	{issuer: "digitalocean", prefix: "dor_v1_", alphabet: hexa, min: 64},
	{issuer: "docker", prefix: "dckr_pat_", alphabet: wordy, min: 20},
	{issuer: "doppler", prefix: "dp.pt.", alphabet: alnum, min: 40},
	{issuer: "flyio", prefix: "FlyV1", alphabet: base64s, min: 40},
	{issuer: "github", prefix: "ghp_", alphabet: alnum, min: 36},
	{issuer: "github", prefix: "gho_", alphabet: alnum, min: 36},
	{issuer: "github", prefix: "ghu_", alphabet: alnum, min: 36},
	{issuer: "github", prefix: "ghs_", alphabet: alnum, min: 36},
	{issuer: "github", prefix: "ghr_", alphabet: alnum, min: 36},
	{issuer: "github", prefix: "github_pat_", alphabet: wordy, min: 36},
	{issuer: "gitlab", prefix: "glpat-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "gldt-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "glrt-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "glcbt-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "glptt-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "glft-", alphabet: wordy, min: 20},
	{issuer: "gitlab", prefix: "gloas-", alphabet: wordy, min: 20},
	{issuer: "google", prefix: "AIza", alphabet: wordy, min: 35},
	{issuer: "google", prefix: "GOCSPX-", alphabet: wordy, min: 28},
	{issuer: "google", prefix: "ya29.", alphabet: wordy, min: 20},
	{issuer: "grafana", prefix: "glsa_", alphabet: wordy, min: 32},
	{issuer: "grafana", prefix: "glc_", alphabet: base64s, min: 32},
	{issuer: "hashicorp", prefix: "hvs.", alphabet: wordy, min: 24},
	{issuer: "hashicorp", prefix: "hvb.", alphabet: wordy, min: 24},
	{issuer: "huggingface", prefix: "hf_", alphabet: alnum, min: 30},
	{issuer: "linear", prefix: "lin_api_", alphabet: alnum, min: 32},
	{issuer: "mailgun", prefix: "key-", alphabet: hexa, min: 32, exact: true},
	{issuer: "nats", prefix: "SU", alphabet: base32, min: 56, exact: true},
	{issuer: "nats", prefix: "SA", alphabet: base32, min: 56, exact: true},
	{issuer: "nats", prefix: "SO", alphabet: base32, min: 56, exact: true},
	{issuer: "nats", prefix: "SN", alphabet: base32, min: 56, exact: true},
	{issuer: "nats", prefix: "SC", alphabet: base32, min: 56, exact: true},
	{issuer: "nats", prefix: "SX", alphabet: base32, min: 56, exact: true},
	{issuer: "newrelic", prefix: "NRAK-", alphabet: upper32, min: 27},
	{issuer: "npm", prefix: "npm_", alphabet: alnum, min: 36},
	{issuer: "openai", prefix: "sk-proj-", alphabet: wordy, min: 24},
	{issuer: "openai", prefix: "sk-svcacct-", alphabet: wordy, min: 24},
	{issuer: "openai", prefix: "sk-admin-", alphabet: wordy, min: 24},
	{issuer: "openrouter", prefix: "sk-or-", alphabet: wordy, min: 32},
	{issuer: "unnamed", prefix: "sk-", alphabet: wordy, min: 32, mixed: true},
	{issuer: "planetscale", prefix: "pscale_", alphabet: dotted, min: 32},
	{issuer: "postman", prefix: "PMAK-", alphabet: wordy, min: 40},
	{issuer: "pulumi", prefix: "pul-", alphabet: hexa, min: 40, exact: true},
	{issuer: "pypi", prefix: "pypi-AgE", alphabet: wordy, min: 40},
	{issuer: "rubygems", prefix: "rubygems_", alphabet: hexa, min: 48},
	{issuer: "sendgrid", prefix: "SG.", alphabet: dotted, min: 60},
	{issuer: "shopify", prefix: "shpat_", alphabet: hexa, min: 32},
	{issuer: "shopify", prefix: "shpss_", alphabet: hexa, min: 32},
	{issuer: "shopify", prefix: "shpca_", alphabet: hexa, min: 32},
	{issuer: "slack", prefix: "xoxb-", alphabet: wordy, min: 20},
	{issuer: "slack", prefix: "xoxp-", alphabet: wordy, min: 20},
	{issuer: "slack", prefix: "xoxa-", alphabet: wordy, min: 20},
	{issuer: "slack", prefix: "xoxr-", alphabet: wordy, min: 20},
	{issuer: "slack", prefix: "xoxs-", alphabet: wordy, min: 20},
	{issuer: "slack", prefix: "xoxe", alphabet: dotted, min: 20, mixed: true},
	{issuer: "slack", prefix: "xapp-", alphabet: wordy, min: 20},
	{issuer: "square", prefix: "sq0csp-", alphabet: wordy, min: 40},
	{issuer: "square", prefix: "sq0atp-", alphabet: wordy, min: 20},
	{issuer: "stripe", prefix: "sk_live_", alphabet: alnum, min: 16},
	{issuer: "stripe", prefix: "sk_test_", alphabet: alnum, min: 16},
	{issuer: "stripe", prefix: "rk_live_", alphabet: alnum, min: 16},
	{issuer: "stripe", prefix: "rk_test_", alphabet: alnum, min: 16},
	{issuer: "stripe", prefix: "whsec_", alphabet: base64s, min: 24},
	{issuer: "supabase", prefix: "sbp_", alphabet: hexa, min: 40},
	{issuer: "terraform", prefix: "atlasv1.", alphabet: wordy, min: 60},
	{issuer: "telegram", prefix: ":AA", alphabet: wordy, min: 33},
}

// maxJudged is how much of a token is looked at before it is judged, bytes.
const maxJudged = 128

// tail returns the length of the token's tail at the start of text, 0 where there is no such token.
func (s shape) tail(text string) int {
	n := 0
	var digit, lower, upper bool
	for n < min(len(text), maxJudged) && s.alphabet.has(text[n]) {
		c := text[n]
		digit, lower, upper = digit || '0' <= c && c <= '9', lower || 'a' <= c && c <= 'z', upper || 'A' <= c && c <= 'Z'
		n++
	}
	switch {
	case n < s.min, s.mixed && !(digit && lower && upper), blank(text[:n]):
		return 0
	case s.exact && (n > s.min || n < len(text) && wordy.has(text[n])):
		return 0
	}
	return n + run(text[n:], s.alphabet)
}

// blank reports whether text is a stand-in for a token: one or two characters over and over.
func blank(text string) bool {
	var seen [256]bool
	kinds := 0
	for i := range len(text) {
		if c := text[i]; !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	return kinds <= 2
}
