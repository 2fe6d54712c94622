{{- define "cairn.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The full name of objects: the name of the release if it contains cairn, otherwise both names. 50 characters allow suffixes. */}}
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

{{/* The component whose pods run the server. */}}
{{- define "cairn.serving" -}}
{{- if eq .Values.mode "split" }}server{{ else }}serve{{ end }}
{{- end }}

{{/* The name of the ServiceAccount and Deployment of operator or server: (list $ "operator"). */}}
{{- define "cairn.account" -}}
{{- $ := index . 0 }}
{{- include "cairn.fullname" $ }}{{ if eq $.Values.mode "split" }}-{{ index . 1 }}{{ end }}
{{- end }}

{{/* The name of the objects with the hooks of metacontroller. The name of a Service has at most 63 characters. */}}
{{- define "cairn.metacontroller" -}}
{{- include "cairn.fullname" . | trunc 48 | trimSuffix "-" }}-metacontroller
{{- end }}

{{- define "cairn.serverURL" -}}
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

{{/* The Secret with the certificate of the public host. Empty if there is none. */}}
{{- define "cairn.certificate" -}}
{{- if .Values.certManager.enabled }}{{ include "cairn.fullname" . }}-public-tls
{{- else }}{{ .Values.tls.secretName }}
{{- end }}
{{- end }}

{{/* "true" if browsers trust the certificate at the public URL. */}}
{{- define "cairn.publicTrusted" -}}
{{- if kindIs "bool" .Values.publicTrusted }}{{ .Values.publicTrusted }}
{{- else if or .Values.ingress.ui.enabled .Values.httpRoute.ui.enabled (include "cairn.certificate" .) }}true
{{- else }}false
{{- end }}
{{- end }}

{{/* "true" if the bucket is a directory. */}}
{{- define "cairn.folder" -}}
{{- if hasPrefix "file://" .Values.bucket.url }}true{{ end }}
{{- end }}

{{- define "cairn.claim" -}}
{{- default (printf "%s-bucket" (include "cairn.fullname" .)) .Values.bucket.persistence.existingClaim }}
{{- end }}

{{/* "true" if several pods can use the bucket at the same time. */}}
{{- define "cairn.shared" -}}
{{- if or (not (include "cairn.folder" .)) (and .Values.bucket.persistence.enabled (has "ReadWriteMany" .Values.bucket.persistence.accessModes)) }}true{{ end }}
{{- end }}

{{/* Annotations that keep an object on uninstall with Helm, Argo CD (which ignores the first one when it prunes) and Flux. */}}
{{- define "cairn.keep" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false,Delete=false
kustomize.toolkit.fluxcd.io/prune: disabled
{{- end }}

{{/*
The objects of a file, with the labels of the chart and, if keep is true, the annotations that keep them: (dict "root" $ "file" "files/..." "keep" false).
Those that are named in unlabeled do not have their labels of the file.
*/}}
{{- define "cairn.objects" -}}
{{- $ := .root }}{{ $keep := .keep }}{{ $file := .file }}{{ $unlabeled := .unlabeled }}
{{- range $document := regexSplit "(?m)^---[ \t]*$" ($.Files.Get $file) -1 }}
{{- $object := fromYaml $document }}
{{- if hasKey $object "Error" }}{{ fail (printf "%s: %s" $file $object.Error) }}{{ end }}
{{- if $object.kind }}
{{- $metadata := $object.metadata }}
{{- if has $metadata.name (default list $unlabeled) }}{{ $_ := unset $metadata "labels" }}{{ end }}
{{- $_ := set $metadata "labels" (merge (dict) (default (dict) $metadata.labels) (include "cairn.labels" $ | fromYaml)) }}
{{- if $keep }}
{{- $_ := set $metadata "annotations" (merge (dict) (default (dict) $metadata.annotations) (include "cairn.keep" $ | fromYaml)) }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}
{{- end }}
{{- end }}

{{/* The impersonation permission of the server: Constrained or Full. */}}
{{- define "cairn.impersonation" -}}
{{- if .Values.oidc.impersonation }}{{ .Values.oidc.impersonation }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}Constrained
{{- else }}Full
{{- end }}
{{- end }}

{{/* The rules of a file in files/roles: (list $ "operator-own"). */}}
{{- define "cairn.rules" -}}
{{- $ := index . 0 }}
{{- $file := printf "files/roles/%s.yaml" (index . 1) }}
{{- $role := $.Files.Get $file | fromYaml }}
{{- if not $role.rules }}{{ fail (printf "%s has no rules" $file) }}{{ end }}
rules:
{{ toYaml $role.rules }}
{{- end }}
