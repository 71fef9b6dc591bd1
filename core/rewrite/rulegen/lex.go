package main

import (
	"fmt"
	"strings"
	"unicode"
)

type token struct {
	kind tokenKind
	text string
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokPunct
)

// puncts are tried in order, longer ones first.
var puncts = []string{"...", "=>", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ":", "@", "~", "?"}

func lex(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		c := rune(s[i])
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case c == '_' || unicode.IsLetter(c):
			j := i + 1
			for j < len(s) && (s[j] == '_' || unicode.IsLetter(rune(s[j])) || unicode.IsDigit(rune(s[j]))) {
				j++
			}
			out = append(out, token{tokName, s[i:j]})
			i = j
		case unicode.IsDigit(c):
			j := i + 1
			for j < len(s) && (unicode.IsDigit(rune(s[j])) || unicode.IsLetter(rune(s[j]))) {
				j++
			}
			out = append(out, token{tokNumber, s[i:j]})
			i = j
		default:
			p := punctAt(s[i:])
			if p == "" {
				return nil, fmt.Errorf("unexpected %q", c)
			}
			out = append(out, token{tokPunct, p})
			i += len(p)
		}
	}
	return append(out, token{}), nil
}

func punctAt(s string) string {
	for _, p := range puncts {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}
