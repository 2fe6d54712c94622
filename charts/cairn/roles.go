package cairn

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

//go:embed files/roles/*.yaml
var roles embed.FS

// Scopes of a Role. Any other Scope is the name of a namespace.
const (
	// Watched is each namespace that Cairn watches.
	Watched Scope = "watched"
	// Cluster is the cluster, for resources without a namespace.
	Cluster Scope = "cluster"
	// Own is the namespace of Cairn.
	Own Scope = "own"
)

// Scope is where the rules of a Role apply.
type Scope string

// Role is a set of permissions of the operator or the server in one scope.
type Role struct {
	Half  string
	Scope Scope
	Rules []rbacv1.PolicyRule
}

// Roles returns all permissions of the operator and the server; see files/roles/README.md.
func Roles() ([]Role, error) {
	files, err := fs.Glob(roles, "files/roles/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Role
	for _, file := range files {
		data, err := roles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict(data, &role); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		half, scope, special := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "-")
		if !special {
			scope = string(Watched)
		}
		all = append(all, Role{Half: half, Scope: Scope(scope), Rules: role.Rules})
	}
	return all, nil
}

// Access binds a ServiceAccount of Cairn to its roles.
type Access struct {
	// Account is the name of the ServiceAccount in Namespace, the namespace of Cairn.
	Account, Namespace string
	// Halves are the components that use the ServiceAccount: operator, server or both.
	Halves []string
	// Watched are the namespaces that Cairn watches. Each gets its own Roles instead of ClusterRoles. Empty means
	// all namespaces.
	Watched []string
}

// Objects returns the roles and their bindings.
func (a Access) Objects() ([]client.Object, error) {
	all, err := Roles()
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, role := range all {
		if !slices.Contains(a.Halves, role.Half) {
			continue
		}
		for _, namespace := range a.places(role.Scope) {
			objects = append(objects, a.bound(role, namespace)...)
		}
	}
	return objects, nil
}

// places returns the namespaces of a role; "" is the cluster.
func (a Access) places(scope Scope) []string {
	switch {
	case scope == Own:
		return []string{a.Namespace}
	case scope == Cluster && len(a.Watched) > 0:
		return nil
	case scope == Watched && len(a.Watched) > 0:
		return a.Watched
	case scope == Watched || scope == Cluster:
		return []string{""}
	default:
		return []string{string(scope)}
	}
}

// bound returns a role and its binding to the ServiceAccount.
func (a Access) bound(role Role, namespace string) []client.Object {
	name := "cairn-" + role.Half
	if role.Scope != Watched {
		name += "-" + string(role.Scope)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Account}}
	if namespace == "" {
		return []client.Object{
			&rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: meta, Rules: role.Rules},
			&rbacv1.ClusterRoleBinding{TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
		}
	}
	return []client.Object{
		&rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: meta, Rules: role.Rules},
		&rbacv1.RoleBinding{TypeMeta: rbac("RoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

func rbac(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
