{{- /*
A Deployment of Cairn's processes: (dict "root" $ "half" "serve|operator|server"). Half serve is both.
*/}}
{{- define "cairn.deployment" }}
{{- $ := .root }}{{ $half := .half }}
{{- $full := include "cairn.fullname" $ }}
{{- $operator := has $half (list "operator" "serve") }}
{{- $server := has $half (list "server" "serve") }}
{{- $folder := include "cairn.folder" $ }}
{{- $certificate := and $server (include "cairn.certificate" $) }}
{{- $oidc := and $server $.Values.oidc.issuerURL }}
{{- $oidcSecret := ternary $.Values.oidc.clientSecret dict (and $oidc (ne $.Values.oidc.clientSecret.name "") | default false) }}
{{- $oidcCA := ternary $.Values.oidc.caConfigMap dict (and $oidc (ne $.Values.oidc.caConfigMap.name "") | default false) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "cairn.account" (list $ $half) }}
  namespace: {{ $.Release.Namespace | toYaml }}
  labels:
    {{- include "cairn.labels" $ | nindent 4 }}
    app.kubernetes.io/component: {{ $half }}
spec:
  replicas: {{ if eq $half "serve" }}1{{ else }}{{ get $.Values.replicas $half }}{{ end }}
  revisionHistoryLimit: 3
  strategy:
    {{- if include "cairn.shared" $ }}
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
    {{- else }}
    # Only one pod at a time can use the bucket. Runners wait for the next pod.
    type: Recreate
    {{- end }}
  selector:
    matchLabels:
      {{- include "cairn.selector" $ | nindent 6 }}
      app.kubernetes.io/component: {{ $half }}
  template:
    metadata:
      labels:
        {{- include "cairn.labels" $ | nindent 8 }}
        app.kubernetes.io/component: {{ $half }}
        {{- with $.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: cairn
        {{- if and $server $.Values.engines.keys }}
        cairn.dev/engine-keys: {{ toYaml $.Values.engines.keys | sha256sum }}
        {{- end }}
        {{- with $.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "cairn.account" (list $ $half) }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      # Requests in progress have 10 s when the pod stops.
      terminationGracePeriodSeconds: 45
      {{- with $.Values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.priorityClassName }}
      priorityClassName: {{ . | toYaml }}
      {{- end }}
      containers:
      - name: cairn
        image: {{ include "cairn.image" (list $ $.Values.image) }}
        imagePullPolicy: {{ $.Values.image.pullPolicy }}
        command: [/usr/local/bin/cairn-controller]
        args:
        - {{ $half }}
        - --namespace={{ $.Release.Namespace }}
        - --bucket={{ $.Values.bucket.url }}
        - --cache=/var/cache/cairn
        - --state-storage={{ $.Values.stateStorage }}
        - --server-url={{ include "cairn.serverURL" $ }}
        {{- with include "cairn.publicURL" $ }}
        - --public-url={{ . }}
        {{- end }}
        {{- with $.Values.watchNamespaces }}
        - --namespaces={{ join "," . }}
        {{- end }}
        {{- with $.Values.allowedAddresses }}
        - --allowed-address={{ join "," . }}
        {{- end }}
        {{- if $operator }}
        - --leader-elect
        {{- with $.Values.notifications.allowedHosts }}
        - --notification-host={{ join "," . }}
        {{- end }}
        - --bucket-gc-after={{ $.Values.bucket.gcAfter }}
        - --runner-image={{ include "cairn.image" (list $ $.Values.image) }}
        - --engine-image={{ include "cairn.image" (list $ $.Values.runner.image) }}
        {{- $runner := $.Values.runner.image }}
        {{- /* A digest does not tell of which release the image is: then only the release's own counts, not one that was built from it. */}}
        {{- if and $runner.hasRunner (eq $runner.tag $.Values.image.tag) (eq (empty $runner.digest) (empty $.Values.image.digest)) (or (empty $runner.digest) (eq (base $runner.repository) "cairn-tools")) }}
        - --engine-image-has-runner
        {{- end }}
        - --runner-image-pull-policy={{ $.Values.image.pullPolicy }}
        - --engine-image-pull-policy={{ $.Values.runner.image.pullPolicy }}
        {{- with $.Values.runner.imagePullSecrets }}
        - --image-pull-secret={{ join "," . }}
        {{- end }}
        {{- with $.Values.providers.images }}
        - --provider-image={{ join "," . }}
        {{- end }}
        {{- with $.Values.runner.tokenAudiences }}
        - --runner-token-audience={{ join "," . }}
        {{- end }}
        {{- with $.Values.runner.metadataKeys }}
        - --runner-metadata-key={{ join "," . }}
        {{- end }}
        - --max-runs={{ int64 $.Values.limits.runs }}
        - --max-runs-per-namespace={{ int64 $.Values.limits.runsPerNamespace }}
        - --mirror-size-limit={{ $.Values.limits.mirrorSize }}
        - --mirror-size-limit-per-namespace={{ $.Values.limits.mirrorSizePerNamespace }}
        - --drift-interval={{ $.Values.drift.interval }}
        - --mass-drift-percent={{ int64 $.Values.drift.massDrift.percent }}
        - --mass-drift-stacks={{ int64 $.Values.drift.massDrift.stacks }}
        {{- if $.Values.allowShell }}
        - --allow-shell
        {{- end }}
        {{- if $.Values.allowUnrestrictedRunners }}
        - --allow-unrestricted-runners
        {{- end }}
        {{- with $.Values.runner.build }}
        {{- if .enabled }}
        - --allow-image-builds
        {{- range $builder, $image := .images }}
        {{- if $image }}
        - --builder-image={{ $builder }}={{ $image }}
        {{- end }}
        {{- end }}
        {{- if .unconfined }}
        - --unconfined-builds
        {{- end }}
        {{- if .userNamespace }}
        - --builds-in-user-namespace
        {{- end }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- if $server }}
        - --listen=:8443
        - --web-listen=:8080
        {{- if not $.Values.publishEndpoint }}
        - --publish-endpoint=false
        {{- end }}
        {{- if eq (include "cairn.publicTrusted" $) "true" }}
        - --public-trusted
        {{- end }}
        {{- if $certificate }}
        - --cert-dir=/etc/cairn/public-tls
        {{- end }}
        - --session-lifetime={{ $.Values.sessionLifetime }}
        {{- with $.Values.oidc }}
        {{- if .issuerURL }}
        - {{ printf "--oidc-issuer-url=%s" .issuerURL | quote }}
        - {{ printf "--oidc-client-id=%s" .clientID | quote }}
        {{- if .clientSecret.name }}
        - --oidc-client-secret-file=/etc/cairn/oidc/client-secret
        {{- end }}
        {{- if .caConfigMap.name }}
        - --oidc-ca-file=/etc/cairn/oidc-ca/ca.crt
        {{- end }}
        {{- with .name }}
        - {{ printf "--oidc-name=%s" . | quote }}
        {{- end }}
        - --oidc-scopes={{ join "," .scopes }}
        - {{ printf "--oidc-username-claim=%s" .usernameClaim | quote }}
        {{- with .usernamePrefix }}
        - {{ printf "--oidc-username-prefix=%s" . | quote }}
        {{- end }}
        {{- with .groupsClaim }}
        - {{ printf "--oidc-groups-claim=%s" . | quote }}
        {{- end }}
        {{- with .groupsPrefix }}
        - {{ printf "--oidc-groups-prefix=%s" . | quote }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- if not $.Values.rbac.clusterWide }}
        - --runner-tokens=jwks
        {{- end }}
        {{- if not $.Values.rbac.clientCertificates }}
        - --client-certificates=false
        {{- end }}
        {{- range $engine, $address := $.Values.engines.mirrors }}
        - {{ printf "--engine-mirror=%s=%s" $engine $address | quote }}
        {{- end }}
        {{- range $engine, $_ := $.Values.engines.keys }}
        - {{ printf "--engine-key=%s=/etc/cairn/engine-keys/%s" $engine $engine | quote }}
        {{- end }}
        {{- range $engine, $versions := $.Values.engines.unsigned }}
        {{- range $version, $digest := $versions }}
        - {{ printf "--engine-unsigned=%s@%s=%s" $engine $version $digest | quote }}
        {{- end }}
        {{- end }}
        - --provider-mirror={{ $.Values.providers.mirror }}
        - --provider-cache-size={{ $.Values.providers.cacheSize }}
        {{- with $.Values.providers.folder }}
        - --provider-folder={{ . }}
        {{- end }}
        {{- if $.Values.providers.offline }}
        - --provider-offline
        {{- end }}
        {{- with $.Values.providers.hosts }}
        - --provider-host={{ join "," . }}
        {{- end }}
        {{- end }}
        - --metrics-address=:9090
        - --health-address=:8081
        {{- if $.Values.pprof.enabled }}
        - --pprof-address=127.0.0.1:6060
        {{- end }}
        - --log-level={{ $.Values.log.level }}
        - --log-json={{ $.Values.log.json }}
        {{- with $.Values.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        env:
        - {name: HOME, value: /tmp}
        {{- with $.Values.tracing.endpoint }}
        - {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ contains "://" . | ternary . (printf "%s://%s" (ternary "http" "https" $.Values.tracing.insecure) .) | quote }}}
        - {name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio}
        - {name: OTEL_TRACES_SAMPLER_ARG, value: {{ $.Values.tracing.sampling | quote }}}
        - {name: OTEL_RESOURCE_ATTRIBUTES, value: "k8s.namespace.name={{ $.Release.Namespace }},k8s.deployment.name={{ include "cairn.account" (list $ $half) }}"}
        {{- end }}
        {{- with $.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $.Values.bucket.secretName }}
        envFrom:
        - secretRef: {name: {{ . | toYaml }}}
        {{- end }}
        ports:
        {{- if $server }}
        - {name: server, containerPort: 8443}
        - {name: web, containerPort: 8080}
        {{- end }}
        - {name: metrics, containerPort: 9090}
        - {name: health, containerPort: 8081}
        startupProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 1
          failureThreshold: 120
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 5
          timeoutSeconds: 5
        {{- if and $server (include "cairn.shared" $) }}
        lifecycle:
          # Time for the Service to remove the pod from its endpoints.
          preStop: {sleep: {seconds: 5}}
        {{- end }}
        {{- with $.Values.resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        {{- if $folder }}
        - {name: bucket, mountPath: /var/lib/cairn}
        {{- end }}
        - {name: cache, mountPath: /var/cache/cairn}
        - {name: tmp, mountPath: /tmp}
        {{- if $certificate }}
        - {name: public-tls, mountPath: /etc/cairn/public-tls, readOnly: true}
        {{- end }}
        {{- if and $server $.Values.engines.keys }}
        - {name: engine-keys, mountPath: /etc/cairn/engine-keys, readOnly: true}
        {{- end }}
        {{- if $oidcSecret }}
        - {name: oidc, mountPath: /etc/cairn/oidc, readOnly: true}
        {{- end }}
        {{- if $oidcCA }}
        - {name: oidc-ca, mountPath: /etc/cairn/oidc-ca, readOnly: true}
        {{- end }}
        {{- with $.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
      {{- if $folder }}
      - name: bucket
        {{- if $.Values.bucket.persistence.enabled }}
        persistentVolumeClaim: {claimName: {{ include "cairn.claim" $ | toYaml }}}
        {{- else }}
        emptyDir: {sizeLimit: {{ $.Values.bucket.persistence.size }}}
        {{- end }}
      {{- end }}
      - name: cache
        emptyDir: {sizeLimit: {{ $.Values.cache.sizeLimit }}}
      - name: tmp
        emptyDir: {sizeLimit: 2Gi}
      {{- if $certificate }}
      - name: public-tls
        # Optional: Cairn starts without the certificate, and loads it when it exists.
        secret: {secretName: {{ include "cairn.certificate" $ | toYaml }}, optional: true}
      {{- end }}
      {{- if and $server $.Values.engines.keys }}
      - name: engine-keys
        configMap: {name: {{ $full }}-engine-keys}
      {{- end }}
      {{- with $oidcSecret }}
      - name: oidc
        secret:
          secretName: {{ .name | toYaml }}
          items: [{key: {{ .key | toYaml }}, path: client-secret}]
      {{- end }}
      {{- with $oidcCA }}
      - name: oidc-ca
        configMap:
          name: {{ .name | toYaml }}
          items: [{key: {{ .key | toYaml }}, path: ca.crt}]
      {{- end }}
      {{- with $.Values.extraVolumes }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- include "cairn.placement" (dict "root" $ "component" $half "spread" (ne $half "serve")) }}
{{- end }}

{{- /* The nodes of the pods of a component: (dict "root" $ "component" "operator" "spread" true). */}}
{{- define "cairn.placement" }}
{{- $ := .root }}{{ $component := .component }}
      {{- with $.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- else }}
      {{- if .spread }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  {{- include "cairn.selector" $ | nindent 18 }}
                  app.kubernetes.io/component: {{ $component }}
      {{- end }}
      {{- end }}
      {{- if $.Values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml $.Values.topologySpreadConstraints | nindent 8 }}
      {{- else if .spread }}
      topologySpreadConstraints:
      {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
      - topologyKey: {{ $key }}
        maxSkew: 1
        whenUnsatisfiable: ScheduleAnyway
        matchLabelKeys: [pod-template-hash]
        labelSelector:
          matchLabels:
            {{- include "cairn.selector" $ | nindent 12 }}
            app.kubernetes.io/component: {{ $component }}
      {{- end }}
      {{- end }}
{{- end }}
