package gitprovider

import "cairn.dev/cairn/internal/source/gitprovider/pulls"

// Gitea and its forks send the webhooks of GitHub, and Forgejo has the API of Gitea.
var (
	gitea = provider{
		name: "Gitea", client: giteaClient, webhook: &webhook{
			event: "X-Gitea-Event", delivery: []string{"X-Gitea-Delivery"}, signsPayload: true,
			check: hexHMAC("", "X-Gitea-Signature"), read: readGitHub,
		},
	}
	forgejo = provider{
		name: "Forgejo", client: giteaClient, webhook: &webhook{
			event: "X-Forgejo-Event", delivery: []string{"X-Forgejo-Delivery"}, signsPayload: true,
			check: hexHMAC("", "X-Forgejo-Signature", "X-Gitea-Signature"), read: readGitHub,
		},
	}
	gogs = provider{
		name: "Gogs", webhook: &webhook{
			event: "X-Gogs-Event", delivery: []string{"X-Gogs-Delivery"}, signsPayload: true,
			check: hexHMAC("", "X-Gogs-Signature"), read: readGitHub,
		},
	}
)

func giteaClient(a Access) (pulls.Client, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	return pulls.NewGitea(pulls.GiteaOptions{
		URL: a.URL.String(), Owner: a.owner(), Name: a.name(), Token: token, Web: a.Web,
	}), nil
}
