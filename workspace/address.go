package workspace

import (
	"net/url"
	"regexp"
	"strings"
)

// cutMark stands where a part of an address was cut out.
const cutMark = "REDACTED"

// CleanAddress gives the address of a remote without credentials: no user, no password, no
// fragment, and cutMark for every value of a query. The user of "git@host:path" and of
// ssh stays, unless it is more than a plain name. What cannot be read as an address keeps
// nothing before its last "@".
func CleanAddress(address string) string {
	if !strings.Contains(address, "://") {
		if helper, rest, ok := strings.Cut(address, "::"); ok && plainUser(helper) {
			return helper + "::" + CleanAddress(rest) // a remote helper and its own address
		}
		return cleanQuery(cleanUser(address))
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" && parsed.User != nil {
		scheme, rest, _ := strings.Cut(address, "://")
		if _, host, ok := cutLast(rest, "@"); ok {
			rest = host
		}
		return scheme + "://" + cleanQuery(rest)
	}
	if parsed.User != nil {
		_, secret := parsed.User.Password()
		if ssh := parsed.Scheme == "ssh" || strings.HasSuffix(parsed.Scheme, "+ssh"); ssh && !secret && plainUser(parsed.User.Username()) {
			parsed.User = url.User(parsed.User.Username())
		} else {
			parsed.User = nil
		}
	}
	if parsed.RawQuery != "" || parsed.ForceQuery {
		parsed.RawQuery, parsed.ForceQuery = cutMark, false
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	if parsed.Opaque != "" {
		parsed.Opaque = cutMark
	}
	return parsed.String()
}

// cleanUser cuts what stands before the last "@" of the part before the first slash, unless
// it is a plain name.
func cleanUser(rest string) string {
	place, path, slash := strings.Cut(rest, "/")
	if user, host, ok := cutLast(place, "@"); ok {
		if place = host; plainUser(user) {
			place = user + "@" + host
		}
	}
	if slash {
		return place + "/" + path
	}
	return place
}

// cleanQuery cuts what follows a question mark or a fragment's sign.
func cleanQuery(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i] + "?" + cutMark
	}
	return s
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// plainUser tells a login such as "git" from what may be a secret.
func plainUser(user string) bool {
	ok, err := regexp.MatchString(`\A[a-z_][a-z0-9_-]{0,15}\z`, user)
	return ok && err == nil
}
