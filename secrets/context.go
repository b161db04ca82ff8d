package secrets

import "strings"

// maxURL is how far a URL is read, bytes.
const maxURL = 8 << 10

// urlsIn finds credentials in URLs: user:password@host, a token as the user, and query parameters whose names say so.
func urlsIn(text string) []Finding {
	var list []Finding
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return list
		}
		begin := at + i + len("://")
		end := begin + urlLength(text[begin:])
		list = append(list, userIn(text, begin, end)...)
		list = append(list, queryIn(text, begin, end)...)
		at = max(end, begin)
	}
}

// urlLength returns how far a URL reaches.
func urlLength(text string) int {
	text = text[:min(len(text), maxURL)]
	if next := strings.Index(text, "://"); next >= 0 {
		text = text[:next]
	}
	n := strings.IndexAny(text, " \t\r\n\"'`<>\\|^")
	if n < 0 {
		n = len(text)
	}
	return n
}

// userIn looks for the user part of the authority text[begin:end].
func userIn(text string, begin, end int) []Finding {
	authority := text[begin:end]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return nil
	}
	user, password, ok := strings.Cut(authority[:at], ":")
	start := begin + len(user) + 1
	if !ok { // a token may stand as the user
		password, start = user, begin
		if len(user) < 20 || !random(user) {
			return nil
		}
	}
	if password == "" || standIn(password) || ok && password == user { // a default that every installation has
		return nil
	}
	return []Finding{{KindURL, start, start + len(password)}}
}

// queryIn looks for parameters of a URL that authorise.
func queryIn(text string, begin, end int) []Finding {
	var list []Finding
	at := strings.IndexAny(text[begin:end], "?#")
	if at < 0 {
		return nil
	}
	for at += begin + 1; at < end; {
		stop := end
		if i := strings.IndexAny(text[at:end], "&;#"); i >= 0 {
			stop = at + i
		}
		name, value, ok := strings.Cut(text[at:stop], "=")
		if ok && authorises(name, value) {
			list = append(list, Finding{KindURL, stop - len(value), stop})
		}
		at = stop + 1
	}
	return list
}

// authorises reports whether a parameter of a URL authorises whoever has it.
func authorises(name, value string) bool {
	if len(value) < 8 || standIn(value) {
		return false
	}
	switch strings.ToLower(strings.NewReplacer("-", "_", "%5F", "_", "%5f", "_").Replace(name)) {
	case "sig", "signature", "x_amz_signature", "x_amz_security_token", "x_goog_signature":
		return len(value) >= 16
	case "key", "auth", "code":
		return len(value) >= 16 && random(value) && !digest(value)
	}
	return secretName(name) != notSecret
}

// headersIn finds credentials of HTTP headers: after Bearer, Basic and the like.
func headersIn(text string) []Finding {
	var list []Finding
	for _, scheme := range [...]string{"bearer ", "basic ", "token ", "apikey "} {
		for at := 0; ; {
			i := indexFold(text[at:], scheme)
			if i < 0 {
				break
			}
			start := at + i + len(scheme)
			n := run(text[start:], base64s)
			for start+n < len(text) && strings.IndexByte("=.~", text[start+n]) >= 0 {
				n += 1 + run(text[start+n+1:], base64s)
			}
			value := text[start : start+n]
			named := headerBefore(text[:at+i])
			if !standIn(value) && (named && n >= 8 || scheme == "bearer " && n >= 20 && random(value)) {
				list = append(list, Finding{KindHeader, start, start + n})
			}
			at = start + n
		}
	}
	return list
}

// headerBefore reports whether text ends with the name of a header that authorises.
func headerBefore(text string) bool {
	tail := strings.TrimRight(text[max(0, len(text)-40):], " \t\"':=")
	return len(tail) >= 13 && strings.EqualFold(tail[len(tail)-13:], "authorization")
}

// indexFold is strings.Index for a lower-case ASCII needle, without regard to case.
func indexFold(text, lower string) int {
	first := lower[:1] + strings.ToUpper(lower[:1])
	for at := 0; ; {
		i := strings.IndexAny(text[at:], first)
		if i < 0 || at+i+len(lower) > len(text) {
			return -1
		}
		if strings.EqualFold(text[at+i:at+i+len(lower)], lower) {
			return at + i
		}
		at += i + 1
	}
}
