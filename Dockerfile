# Cairn's two images; docs/how-to/images.md says what is in them, and how to make your own.
#
#   make web                         # what is in web/dist gets into the image: without it there is no web UI
#   docker build --target cairn .
#   docker buildx build --platform linux/amd64,linux/arm64 --target cairn-tools .
#
# Nothing of the target's architecture is run on the way, so no emulation is needed for any. Where there is no registry
# to have the bases from, tools/images/build makes some and hands them in.

# Everything is built and unpacked in the first: a Debian with Go, git and apt. The second is what cairn-tools is made on.
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS programs
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
# How modules are got, and where they and what was compiled are kept: as go has it, unless they are given.
ARG GOPROXY
ARG GOFLAGS
ARG GOMODCACHE
ARG GOCACHE
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
	CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -buildvcs=false -trimpath -tags=disable_grpc_modules \
	-ldflags "-s -w -X cairn.dev/cairn/internal/base/version.Version=$VERSION" -o /out/ ./cmd/cairn-controller ./cmd/cairn-runner \
	&& CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go -C migrate build -buildvcs=false -trimpath -tags=disable_grpc_modules \
	-ldflags "-s -w -X cairn.dev/cairn/internal/base/version.Version=$VERSION" -o /out/ ./cmd/cairn-migrate

# The operator and server need git and ssh, authorities and time zones. There is no shell and nothing that needs one:
# the packages that only their scripts want are said to be there, and the scripts go.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS rootfs
ARG TARGETARCH
COPY tools/images/unpack /usr/local/bin/
RUN for package in adduser awk debconf dpkg liberror-perl openssl passwd perl; do \
		printf 'Package: %s\nStatus: install ok installed\nArchitecture: %s\nMulti-Arch: foreign\nVersion: 99:0\nMaintainer: none\nDescription: none\n\n' $package $TARGETARCH; \
	done >/without \
	&& cp /without /status \
	&& unpack $TARGETARCH /status /rootfs base-files ca-certificates git openssh-client tzdata \
	&& tail -c +$(($(wc -c </without) + 1)) /status >/rootfs/var/lib/dpkg/status
RUN cd /rootfs \
	&& rm -rf usr/share/man usr/share/info usr/share/lintian usr/share/bash-completion usr/share/perl5 usr/share/bug usr/share/git-core/templates \
		usr/share/zoneinfo/right usr/share/zoneinfo/posix usr/lib/*/gconv etc/update-motd.d \
		usr/bin/scalar usr/bin/git-shell usr/lib/git-core/git-shell usr/lib/git-core/git-daemon usr/lib/git-core/git-http-push usr/lib/git-core/git-imap-send \
		usr/lib/openssh/ssh-keysign \
	&& find usr/share/doc -type f ! -name copyright -delete \
	&& find . -type f -perm /111 -exec sh -c 'for f; do if [ "$(head -c 2 "$f")" = "#!" ]; then rm "$f"; fi; done' sh {} + \
	&& find . -xtype l ! -path './etc/*' ! -path './var/*' -delete \
	&& find usr/share/doc -type d -empty -delete \
	&& echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/usr/sbin/nologin' >etc/passwd \
	&& echo 'nonroot:x:65532:' >etc/group \
	&& echo 'hosts: files dns' >etc/nsswitch.conf \
	&& chmod 1777 tmp var/tmp && mkdir /empty

FROM scratch AS cairn
ARG VERSION=dev
ARG REVISION
COPY --from=rootfs /rootfs/ /
COPY --from=rootfs --chown=65532:65532 /empty /home/nonroot
COPY --from=rootfs --chown=65532:65532 /empty /var/lib/cairn
COPY --from=rootfs --chown=65532:65532 /empty /var/cache/cairn
COPY --from=programs /out/ /usr/local/bin/
ENV PATH=/usr/local/bin:/usr/bin HOME=/home/nonroot
WORKDIR /home/nonroot
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/cairn-controller"]
LABEL org.opencontainers.image.title="cairn" \
	org.opencontainers.image.description="Cairn's operator, server and hooks of metacontroller, and the runner that is copied into the image of each Stack" \
	org.opencontainers.image.url="https://cairn.dev" \
	org.opencontainers.image.source="https://github.com/cairn-dev/cairn" \
	org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.version="$VERSION" \
	org.opencontainers.image.revision="$REVISION"

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS tofu
ARG TARGETOS
ARG TARGETARCH
ARG GOPROXY
ARG GOFLAGS
ARG GOMODCACHE
ARG GOCACHE
# A folder that has it already, in a folder for its architecture, saves some minutes.
ARG TOOLS=/cache/tools
WORKDIR /src
COPY tools/build tools/
COPY tools/tofu tools/tofu/
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build --mount=type=cache,target=/cache/tools \
	GOOS=$TARGETOS GOARCH=$TARGETARCH tools/build tofu $TOOLS/$TARGETARCH \
	&& mkdir /out && cp $TOOLS/$TARGETARCH/tofu /out/

# Said for the buildah of today, which takes the platform of the stage before.
FROM --platform=$TARGETPLATFORM ${DEBIAN_IMAGE} AS tools-base

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS tools-rootfs
ARG TARGETARCH
COPY tools/images/unpack /usr/local/bin/
COPY --from=tools-base /var/lib/dpkg/status /status
COPY --from=tools-base /etc/passwd /etc/group /base/
RUN unpack $TARGETARCH /status /rootfs ca-certificates curl git jq openssh-client unzip \
	&& cd /rootfs && find . -maxdepth 1 -type l -delete \
	&& rm -rf usr/share/man usr/share/info usr/share/lintian && find usr/share/doc -type f ! -name copyright -delete \
	&& mkdir -p etc /empty \
	&& { cat /base/passwd && echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/bin/bash'; } >etc/passwd \
	&& { cat /base/group && echo 'nonroot:x:65532:'; } >etc/group

# What Stacks run in when they name no image.
FROM tools-base AS cairn-tools
ARG VERSION=dev
ARG REVISION
COPY --from=tools-rootfs /rootfs/ /
COPY --from=tools-rootfs --chown=65532:65532 /empty /home/nonroot
COPY --from=tofu /out/tofu /usr/local/bin/
COPY --from=programs /out/cairn-runner /cairn/bin/
ENV HOME=/home/nonroot
WORKDIR /home/nonroot
USER 65532:65532
CMD ["bash"]
LABEL org.opencontainers.image.title="cairn-tools" \
	org.opencontainers.image.description="OpenTofu, git, ssh, curl, jq and a shell: what the Stacks of Cairn run in when they name no image" \
	org.opencontainers.image.url="https://cairn.dev" \
	org.opencontainers.image.source="https://github.com/cairn-dev/cairn" \
	org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.version="$VERSION" \
	org.opencontainers.image.revision="$REVISION"
