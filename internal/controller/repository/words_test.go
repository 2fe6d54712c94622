package repository

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// The packages that read code do not import the API, so each spells the reasons of its errors.
func TestCodeReasonsAreReasonsOfTheAPI(t *testing.T) {
	for err, want := range map[error]string{
		git.ErrAuthentication: v1alpha1.ReasonAuthenticationFailed,
		git.ErrHostKey:        v1alpha1.ReasonHostKeyUnknown,
		git.ErrCertificate:    v1alpha1.ReasonCertificateUntrusted,
		git.ErrRedirect:       v1alpha1.ReasonRedirected,
		git.ErrAddress:        v1alpha1.ReasonAddressDenied,
		git.ErrMirrorTooLarge: v1alpha1.ReasonMirrorTooLarge,
		git.ErrNotFound:       v1alpha1.ReasonRemoteNotFound,
		git.ErrUnreachable:    v1alpha1.ReasonUnreachable,
		git.ErrNoRef:          v1alpha1.ReasonRefNotFound,
		git.ErrEmpty:          v1alpha1.ReasonNotFetched,
		git.ErrTimeout:        v1alpha1.ReasonTimeout,
		git.ErrConfig:         v1alpha1.ReasonConfigurationInvalid,
		git.ErrContent:        v1alpha1.ReasonContentInvalid,
		git.ErrTooLarge:       v1alpha1.ReasonSourceTooLarge,
	} {
		if got := git.Reason(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	for err, want := range map[error]string{
		closure.ErrPath:            v1alpha1.ReasonPathNotFound,
		closure.ErrNoCode:          v1alpha1.ReasonCodeNotFound,
		closure.ErrTerragruntStack: v1alpha1.ReasonTerragruntStackNotSupported,
		closure.ErrModule:          v1alpha1.ReasonModuleNotFound,
		closure.ErrInvalidGlob:     v1alpha1.ReasonTriggerInvalid,
		closure.ErrVariableFile:    v1alpha1.ReasonVariableFileNotFound,
		closure.ErrTooLarge:        v1alpha1.ReasonSourceTooLarge,
	} {
		if got := closure.Reason(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
}
