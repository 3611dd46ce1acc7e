package configs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"maskstream/internal/userfile"
)

// expander replaces ${VAR} and ${file:/path} in a value; $${ stands for a plain ${.
type expander func(text string) (string, error)

var (
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// newExpander looks variables up in env, which has the form of os.Environ. What a reference yields is not expanded again.
func newExpander(env []string) expander {
	return func(text string) (string, error) {
		var failure error
		text = reference.ReplaceAllStringFunc(text, func(match string) string {
			if strings.HasPrefix(match, "$$") {
				return match[1:]
			}
			value, err := resolve(match, env)
			if err != nil && failure == nil {
				failure = err
			}
			return value
		})
		return text, failure
	}
}

func resolve(match string, env []string) (string, error) {
	name, closed := strings.CutSuffix(strings.TrimPrefix(match, "${"), "}")
	switch path, isFile := strings.CutPrefix(name, "file:"); {
	case !closed: // it may be a part of a password, and is not shown
		return "", errors.New("a ${ is not closed: write ${NAME}, or $${ for a plain ${")
	case isFile:
		return ReadSecret(path)
	case !variable.MatchString(name):
		return "", errors.New("what stands in ${…} is no name of a variable: write ${NAME} or ${file:/path}, or $${ for a plain ${")
	}
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("the environment variable %s is not set: export it, or write $${%s} for the plain text", name, name)
}

// ReadSecret reads a password or token file; one line end at its end does not belong to the secret.
func ReadSecret(path string) (string, error) {
	text, err := userfile.Read(path, 64<<10)
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("secret: %s is empty", path)
	}
	return secret, nil
}
