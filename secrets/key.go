package secrets

import "strings"

// maxKey is how far the end of a private key is looked for, bytes; no key is longer.
const maxKey = 64 << 10

// bareKeys are how private keys begin that stand without their first line: of OpenSSH in base64, of PuTTY. Read-only.
var bareKeys = [...]string{"b3BlbnNzaC1rZXktdjEA", "PuTTY-User-Key-File-"}

// keysIn finds private keys in armour, encrypted ones too, and NATS credentials. Line ends may be escaped. A key without an end
// reaches to the next one, or as far as one may be long.
func keysIn(text string) []Finding {
	var list []Finding
	for at := 0; ; {
		i := strings.Index(text[at:], "-----BEGIN ")
		if i < 0 {
			break
		}
		start := at + i
		at = start + len("-----BEGIN ")
		label, _, ok := strings.Cut(text[at:min(len(text), at+80)], "-----")
		if !ok || !privateLabel(label) {
			continue
		}
		body := text[at+len(label) : min(len(text), start+maxKey)]
		if next := strings.Index(body, "-----BEGIN "); next >= 0 {
			body = body[:next]
		}
		dashes := len(body) - len(strings.TrimLeft(body, "-"))
		end := at + len(label) + dashes + keyBody(body[dashes:])
		if j := strings.Index(body, "END "+label); j >= 0 {
			end = at + len(label) + j + len("END "+label)
			for end < len(text) && text[end] == '-' {
				end++
			}
		}
		if keyed(text[at+len(label) : end]) {
			list = append(list, Finding{KindPrivateKey, start, end})
		}
		at = end
	}
	list = append(list, endsIn(text)...)
	for _, begin := range bareKeys {
		for at := 0; ; {
			i := strings.Index(text[at:], begin)
			if i < 0 {
				break
			}
			start := at + i
			at = start + len(begin)
			if begin[0] == 'P' { // its private lines are the last ones
				at = min(len(text), start+maxKey)
			} else {
				at += keyBody(text[at:])
			}
			if keyed(text[start+len(begin) : at]) {
				list = append(list, Finding{KindPrivateKey, start, at})
			}
		}
	}
	return list
}

// maxHeaders is how far behind its first line a key begins: headers and comments come before it.
const maxHeaders = 400

// keyed reports whether text begins with base64 that can be of a key: a name alone is no secret.
func keyed(text string) bool {
	text = text[:min(len(text), maxHeaders)]
	for at := 0; at < len(text); at++ {
		n := run(text[at:], base64s)
		if n >= minBase64 && strings.Trim(text[at:at+n], "-") != "" && !blank(text[at:at+n]) {
			return true
		}
		at += n
	}
	return false
}

// endsIn finds private keys whose first line is lost: the base64 before their last one.
func endsIn(text string) []Finding {
	var list []Finding
	for at := 0; ; {
		i := strings.Index(text[at:], "-----END ")
		if i < 0 {
			return list
		}
		end := at + i + len("-----END ")
		label, _, ok := strings.Cut(text[end:min(len(text), end+80)], "-----")
		start := at + i
		for start > at && at+i-start < maxKey && keyByte(text[start-1]) {
			start--
		}
		for start < at+i && (text[start] == '\n' || text[start] == '\r') {
			start++
		}
		// The word before the key is no line of it.
		if line := strings.IndexByte(text[start:at+i], '\n'); line >= 0 && line < 16 {
			start += line + 1
		}
		at = end
		if ok && privateLabel(label) && start < at-len("-----END ") {
			at += len(label) + len("-----")
			list = append(list, Finding{KindPrivateKey, start, at})
		}
	}
}

// privateLabel reports whether armour with this label holds a private key.
func privateLabel(label string) bool {
	return strings.HasSuffix(label, "PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK" || label == "SSH2 ENCRYPTED PRIVATE KEY" ||
		strings.HasSuffix(label, "NKEY SEED") || label == "NATS USER JWT"
}

// keyBody returns the length of base64 text in lines, which may be escaped.
func keyBody(text string) int {
	n := 0
	for n < len(text) && n < maxKey {
		if !keyByte(text[n]) {
			return n
		}
		n++
	}
	return n
}

// keyByte reports whether a byte is of base64 in lines, which may be escaped.
func keyByte(c byte) bool { return base64s.has(c) || strings.IndexByte("=\n\r\\", c) >= 0 }
