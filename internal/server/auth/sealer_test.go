package auth

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// sealing is a sealer of keys that are not in use anywhere.
func sealing(t *testing.T, key byte, purpose string, now func() time.Time) sealer {
	t.Helper()
	derive := func(purpose string) ([]byte, error) {
		sum := sha256.Sum256([]byte(string(rune(key)) + purpose))
		return sum[:], nil
	}
	s, err := newSealer(derive, purpose, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealOpensWithItsKeyAndPurposeUntilItExpires(t *testing.T) {
	const it = "alice, of the team that runs the network" // so long that no seal has it by chance
	now := time.Unix(1_000_000, 0)
	at := func(now time.Time) func() time.Time { return func() time.Time { return now } }
	text, err := sealing(t, 'a', purposeSession, at(now)).seal(it, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, it) || strings.ContainsAny(text, "+/=") {
		t.Errorf("the seal is %s", text)
	}
	for name, test := range map[string]struct {
		by   sealer
		text string
		ok   bool
	}{
		"another process of the install": {sealing(t, 'a', purposeSession, at(now.Add(59*time.Minute))), text, true},
		"later":                          {sealing(t, 'a', purposeSession, at(now.Add(time.Hour))), text, false},
		"another install":                {sealing(t, 'b', purposeSession, at(now)), text, false},
		"for another purpose":            {sealing(t, 'a', purposeSignIn, at(now)), text, false},
		"cut off":                        {sealing(t, 'a', purposeSession, at(now)), text[:len(text)-4], false},
		"nothing":                        {sealing(t, 'a', purposeSession, at(now)), "", false},
		"no base64":                      {sealing(t, 'a', purposeSession, at(now)), "?" + text, false},
	} {
		var got string
		if err := test.by.open(test.text, &got); (err == nil) != test.ok || (got == it) != test.ok {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What a session is worth, Kubernetes and the configuration say each time.
func TestSessionIsVerifiedOnEachRequest(t *testing.T) {
	asked := 0
	tokens := map[string]string{"good": "alice"}
	p := newUserAuthenticator(reviewing(tokens, &asked), nil, nil)
	s := &sessions{sealer: sealing(t, 'a', purposeSession, time.Now), token: p.review,
		provider: "https://id.example cairn", lifetime: time.Hour}
	var err error
	if s.site, err = siteOf(SignIn{URL: "https://cairn.example.com"}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		in   Session
		who  string
		code int
	}{
		"a token":                   {Session{Token: "good"}, "alice", 0},
		"one that is none any more": {Session{Token: "gone"}, "", http.StatusUnauthorized},
		"an identity provider":      {Session{Name: "bob", Provider: "https://id.example cairn"}, "bob", 0},
		"one that is not any more": {Session{Name: "bob", Provider: "https://other.example cairn"}, "",
			http.StatusUnauthorized},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		c, err := s.Start(r, test.in)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(c)
		who, ok, err := s.Of(r)
		if code(err) != test.code || ok != (test.code == 0) || ok && who.GetName() != test.who {
			t.Errorf("%s: %v, %v, %v", name, who, ok, err)
		}
	}
	s.provider = ""
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	c, err := s.Start(r, Session{Name: "bob", Provider: "https://id.example cairn"})
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(c)
	if _, ok, err := s.Of(r); ok || code(err) != http.StatusUnauthorized {
		t.Errorf("without a provider: %v", err)
	}
}

func TestClaimsAreRead(t *testing.T) {
	const issuer = "https://id.example"
	all := map[string]any{"sub": "42", "email": "alice@example.com", "groups": []any{"ops", "devs"}, "team": "ops",
		"system": "system:admin", "own": []any{"system:masters"}, "odd": []any{1.0}, "n": 1.0}
	for name, test := range map[string]struct {
		claims Claims
		more   map[string]any
		who    string
		groups string
		says   string
	}{
		"as an API server reads it":  {claims: Claims{}, who: issuer + "#42"},
		"an address needs no prefix": {claims: Claims{Username: "email"}, who: "alice@example.com"},
		"and one where it is wanted": {claims: Claims{Username: "email", UsernamePrefix: "oidc:"},
			who: "oidc:alice@example.com"},
		"no prefix": {claims: Claims{UsernamePrefix: "-"}, who: "42"},
		"groups": {claims: Claims{UsernamePrefix: "-", Groups: "groups",
			GroupsPrefix: "oidc:"}, who: "42", groups: "oidc:ops oidc:devs"},
		"one group": {claims: Claims{UsernamePrefix: "-", Groups: "team"}, who: "42",
			groups: "ops"},
		"no groups":               {claims: Claims{UsernamePrefix: "-", Groups: "none"}, who: "42"},
		"no name":                 {claims: Claims{Username: "name"}, says: `no claim "name"`},
		"a name that is a number": {claims: Claims{Username: "n"}, says: `no claim "n"`},
		"groups that are none":    {claims: Claims{Groups: "n"}, says: "no list of names"},
		"a group that is none":    {claims: Claims{Groups: "odd"}, says: "no list of names"},
		"an address that is verified": {claims: Claims{Username: "email"},
			more: map[string]any{"email_verified": true}, who: "alice@example.com"},
		"an address that is not": {claims: Claims{Username: "email"},
			more: map[string]any{"email_verified": false}, says: "has not verified"},
		"or said to be by a text": {claims: Claims{Username: "email"},
			more: map[string]any{"email_verified": "true"}, says: "has not verified"},
		"a name of Kubernetes' own": {claims: Claims{Username: "system", UsernamePrefix: "-"},
			says: "Kubernetes' own"},
		"which a prefix makes another": {claims: Claims{Username: "system", UsernamePrefix: "oidc:"},
			who: "oidc:system:admin"},
		"or the prefix itself":       {claims: Claims{UsernamePrefix: "system:"}, says: "Kubernetes' own"},
		"a group of Kubernetes' own": {claims: Claims{Groups: "own"}, says: "Kubernetes' own"},
		"which a prefix makes another, too": {claims: Claims{UsernamePrefix: "-", Groups: "own", GroupsPrefix: "oidc:"},
			who: "42", groups: "oidc:system:masters"},
	} {
		claims := map[string]any{}
		for _, from := range []map[string]any{all, test.more} {
			for k, v := range from {
				claims[k] = v
			}
		}
		who, groups, err := test.claims.identity(issuer, claims)
		switch {
		case test.says != "":
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %q %v, %v", name, who, groups, err)
			}
		case err != nil || who != test.who || strings.Join(groups, " ") != test.groups:
			t.Errorf("%s: %q %v, %v", name, who, groups, err)
		}
	}
}

func TestWebUIRequiresAnHTTPSURL(t *testing.T) {
	for _, bad := range []string{"http://cairn.example.com", "cairn.example.com", "https://alice@cairn.example.com"} {
		if _, err := siteOf(SignIn{URL: bad}); err == nil || !strings.Contains(err.Error(), "has to be https") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
