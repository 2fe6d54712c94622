package v1alpha1

// Reasons of the Ready condition of a Repository. Reasons that concern a commit are also reasons of a Stack.
const (
	// ReasonFetched: the last fetch succeeded.
	ReasonFetched = "Fetched"
	// ReasonFetching: the first fetch has not ended yet.
	ReasonFetching = "Fetching"
	// ReasonFetchFailed: git failed. The message has the end of its output; Cairn retries.
	ReasonFetchFailed = "FetchFailed"
	// ReasonNotFetched: the mirror does not contain the requested commit yet. The next fetch downloads it.
	ReasonNotFetched = "NotFetched"
	// ReasonAuthenticationFailed: the Git server denies the credentials. Correct the Secret.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonHostKeyUnknown: the key of the SSH server is not in known_hosts. Check it, and add it to the
	// Secret.
	ReasonHostKeyUnknown = "HostKeyUnknown"
	// ReasonCertificateUntrusted: the certificate is from a CA that is not trusted. Add ca.crt to the Secret.
	ReasonCertificateUntrusted = "CertificateUntrusted"
	// ReasonRedirected: the repository has another URL now. Correct spec.url.
	ReasonRedirected = "Redirected"
	// ReasonAddressDenied: a host has an address that Cairn does not connect to, such as loopback or a metadata
	// service. Use another host, or have an administrator allow the address.
	ReasonAddressDenied = "AddressDenied"
	// ReasonMirrorTooLarge: the mirror of the Repository, or all mirrors of its namespace, would exceed their limit.
	// Remove large files from the repository, or have an administrator raise the limit.
	ReasonMirrorTooLarge = "MirrorTooLarge"
	// ReasonRemoteNotFound: the Git server has no such repository, or does not show it to these credentials.
	ReasonRemoteNotFound = "RemoteNotFound"
	// ReasonUnreachable: the Git server does not respond. Cairn retries.
	ReasonUnreachable = "Unreachable"
	// ReasonRefNotFound: there is no such branch, tag or commit. Correct the ref, or push it.
	ReasonRefNotFound = "RefNotFound"
	// ReasonTimeout: git exceeded spec.timeout. Cairn retries.
	ReasonTimeout = "Timeout"
	// ReasonConfigurationInvalid: the URL, the Secret or .gitmodules is wrong. The message describes the error.
	ReasonConfigurationInvalid = "ConfigurationInvalid"
	// ReasonCredentialsNotFound: the Secret of spec.credentials does not exist. Create it, or correct
	// spec.credentials.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsInvalid: the Secret has no credentials that Cairn can use. The message describes the error.
	ReasonCredentialsInvalid = "CredentialsInvalid"
)

// repositoryReasons describes the reasons of this file.
var repositoryReasons = []Reason{
	{Name: ReasonFetched, In: InRepository},
	{Name: ReasonFetching, In: InRepository},
	{Name: ReasonFetchFailed, In: InRepository, Severity: SeverityError},
	{Name: ReasonNotFetched, In: InRepository, Severity: SeverityWarning},
	{Name: ReasonAuthenticationFailed, In: InRepository, Severity: SeverityError},
	{Name: ReasonHostKeyUnknown, In: InRepository, Severity: SeverityError},
	{Name: ReasonCertificateUntrusted, In: InRepository, Severity: SeverityError},
	{Name: ReasonRedirected, In: InRepository, Severity: SeverityError},
	{Name: ReasonAddressDenied, In: InRepository, Severity: SeverityError},
	{Name: ReasonMirrorTooLarge, In: InRepository | InStack, Severity: SeverityError},
	{Name: ReasonRemoteNotFound, In: InRepository, Severity: SeverityError},
	{Name: ReasonUnreachable, In: InRepository, Severity: SeverityError},
	{Name: ReasonRefNotFound, In: InRepository | InStack | InStackSet | InPipeline, Severity: SeverityError},
	{Name: ReasonTimeout, In: InRepository, Severity: SeverityError},
	{Name: ReasonConfigurationInvalid, In: InRepository | InStack | InNotification | InPipeline,
		Severity: SeverityError},
	{Name: ReasonCredentialsNotFound, In: InRepository | InNotification | InOther, Severity: SeverityError},
	{Name: ReasonCredentialsInvalid, In: InRepository | InNotification | InOther, Severity: SeverityError},
}
