{{- define "cairn.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Everything has this name: the release's when that says cairn, and both otherwise. 50 characters leave room for endings. */}}
{{- define "cairn.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "cairn.selector" -}}
app.kubernetes.io/name: {{ include "cairn.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end }}

{{- define "cairn.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "cairn.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: cairn
{{- end }}

{{/* The image of (list $ .Values.image). */}}
{{- define "cairn.image" -}}
{{- $ := index . 0 }}{{ $image := index . 1 }}
{{- if $image.registry }}{{ trimSuffix "/" $image.registry }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The component whose pods serve. */}}
{{- define "cairn.serving" -}}
{{- if eq .Values.mode "split" }}server{{ else }}serve{{ end }}
{{- end }}

{{/* The account of a half: (list $ "operator"). */}}
{{- define "cairn.account" -}}
{{- $ := index . 0 }}
{{- include "cairn.fullname" $ }}{{ if eq $.Values.mode "split" }}-{{ index . 1 }}{{ end }}
{{- end }}

{{- define "cairn.storeURL" -}}
https://{{ include "cairn.fullname" . }}.{{ .Release.Namespace }}.svc:8443
{{- end }}

{{- define "cairn.publicURL" -}}
{{- if .Values.publicURL }}{{ trimSuffix "/" .Values.publicURL }}
{{- else if .Values.ingress.ui.enabled }}https://{{ .Values.ingress.ui.host }}
{{- end }}
{{- end }}

{{- define "cairn.publicHost" -}}
{{- (urlParse (include "cairn.publicURL" .)).hostname }}
{{- end }}

{{/* The Secret with the certificate of the public host; empty for none. */}}
{{- define "cairn.certificate" -}}
{{- if .Values.certManager.enabled }}{{ include "cairn.fullname" . }}-public-tls
{{- else }}{{ .Values.tls.secretName }}
{{- end }}
{{- end }}

{{/* "true" when everybody trusts the certificate at the public URL. */}}
{{- define "cairn.publicTrusted" -}}
{{- if kindIs "bool" .Values.publicTrusted }}{{ .Values.publicTrusted }}
{{- else if or .Values.ingress.ui.enabled .Values.httpRoute.ui.enabled (include "cairn.certificate" .) }}true
{{- else }}false
{{- end }}
{{- end }}

{{/* "true" when the bucket is a folder. */}}
{{- define "cairn.folder" -}}
{{- if hasPrefix "file://" .Values.bucket.url }}true{{ end }}
{{- end }}

{{- define "cairn.claim" -}}
{{- default (printf "%s-bucket" (include "cairn.fullname" .)) .Values.bucket.persistence.existingClaim }}
{{- end }}

{{/* "true" when several pods may have the bucket at once. */}}
{{- define "cairn.shared" -}}
{{- if or (not (include "cairn.folder" .)) (and .Values.bucket.persistence.enabled (has "ReadWriteMany" .Values.bucket.persistence.accessModes)) }}true{{ end }}
{{- end }}

{{/* Nobody takes away what has this: helm, Argo CD (for which the first one holds on delete only, not on prune), Flux. */}}
{{- define "cairn.keep" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false,Delete=false
kustomize.toolkit.fluxcd.io/prune: disabled
{{- end }}

{{/* The objects of a file, with the chart's labels and, when asked, the annotation that keeps them: (dict "root" $ "file" "files/..." "keep" false). */}}
{{- define "cairn.objects" -}}
{{- $ := .root }}{{ $keep := .keep }}{{ $file := .file }}
{{- range $document := regexSplit "(?m)^---[ \t]*$" ($.Files.Get $file) -1 }}
{{- $object := fromYaml $document }}
{{- if hasKey $object "Error" }}{{ fail (printf "%s: %s" $file $object.Error) }}{{ end }}
{{- if $object.kind }}
{{- $metadata := $object.metadata }}
{{- $_ := set $metadata "labels" (merge (dict) (default (dict) $metadata.labels) (include "cairn.labels" $ | fromYaml)) }}
{{- if $keep }}
{{- $_ := set $metadata "annotations" (merge (dict) (default (dict) $metadata.annotations) (include "cairn.keep" $ | fromYaml)) }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}
{{- end }}
{{- end }}

{{/* What the server may as people whom an identity provider names. */}}
{{- define "cairn.impersonation" -}}
{{- if .Values.oidc.impersonation }}{{ .Values.oidc.impersonation }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}Constrained
{{- else }}Full
{{- end }}
{{- end }}

{{/* The rules of one of files/roles: (list $ "operator-own"). */}}
{{- define "cairn.rules" -}}
{{- $ := index . 0 }}
{{- $file := printf "files/roles/%s.yaml" (index . 1) }}
{{- $role := $.Files.Get $file | fromYaml }}
{{- if not $role.rules }}{{ fail (printf "%s has no rules" $file) }}{{ end }}
rules:
{{ toYaml $role.rules }}
{{- end }}
