/* Written by `npm run schema` from the CRDs of the chart. */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Repository is a git repository that Stacks read code from. Cairn keeps one mirror of it. */
        Repository: {
            /**
             * @description APIVersion defines the versioned schema of this representation of an object.
             *     Servers should convert recognized schemas to the latest internal value, and
             *     may reject unrecognized values.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
             */
            apiVersion?: string;
            /**
             * @description Kind is a string value representing the REST resource this object represents.
             *     Servers may infer this from the endpoint the client submits requests to.
             *     Cannot be updated.
             *     In CamelCase.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
             */
            kind?: string;
            metadata: components["schemas"]["Metadata"];
            /** @description Spec says where the repository is and who may use it. */
            spec: {
                /** @description AllowedNamespaces names other namespaces whose Stacks may use this Repository; "*" is all of them. */
                allowedNamespaces?: string[];
                /**
                 * @description Credentials for the remote, and for no other host. The Secret has username and password; or bearerToken; or identity
                 *     and known_hosts for SSH, and password if the identity has one; or githubAppID, githubAppInstallationID and
                 *     githubAppPrivateKey; and ca.crt where the remote's certificate is from an authority of one's own.
                 */
                credentials?: {
                    /** @description Secret in the same namespace. */
                    secret: {
                        /** @description Name of the object. */
                        name: string;
                    };
                };
                /**
                 * @description Engine is the default of spec.engine for its Stacks: of a Stack that leaves out the name, the version or the wrapped engine. A
                 *     version counts for Stacks of the same engine only, and counts more than what the code asks for. A change of it plans
                 *     those Stacks. Example: {name: Terraform, version: "~> 1.9"}.
                 */
                engine?: {
                    /**
                     * @description Name of the engine: OpenTofu, Terraform or Terragrunt. Default: that of the Repository, or OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a constraint on the engine's version, as in required_version. The engine of the runner's image is taken
                     *     when it meets it, otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the
                     *     code says, from git, a ConfigMap or inline: the nearest .opentofu-version, .terraform-version or .terragrunt-version file from
                     *     the root module's folder up, or else required_version; and when the code says nothing, any version. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs; only for Terragrunt. Absent: OpenTofu, or Terraform where the runner's image has
                     *     that and no OpenTofu, in a version that the code asks for. Example: {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
                         *     Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
                         *     otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
                         *     .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
                         *     required_version; and when the code says nothing, any version. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description Interval between two looks at the remote, beside what webhooks tell; 0s relies on webhooks alone.
                 * @default 5m
                 */
                interval: string;
                /** @description LFS fetches the content of files that are kept in Git LFS. */
                lfs?: boolean;
                /** @description Limits on what its Stacks do at the same time. */
                limits?: {
                    /**
                     * Format: int32
                     * @description Runs that plan or apply at the same time; 0 for no limit.
                     */
                    runs?: number;
                };
                /** @description Ref is the branch, tag or commit for Stacks that name none. Default: the branch that the remote's HEAD names. */
                ref?: string;
                /** @description Submodules fetches the submodules that Stacks reach. The credentials are shown to those of the same host only. */
                submodules?: boolean;
                /**
                 * @description Timeout of one fetch.
                 * @default 10m
                 */
                timeout: string;
                /** @description URL to fetch from: https://, http://, ssh://, or user@host:path for SSH. Credentials do not belong in it. */
                url: string;
                /**
                 * @description Webhook lets a forge tell of pushes, at /hooks/<namespace>/<name>. Each value in the Secret is a secret that the forge
                 *     may sign with, so that one can be replaced by another. Without it no webhook is taken.
                 */
                webhook?: {
                    /** @description Secret in the same namespace. */
                    secret: {
                        /** @description Name of the object. */
                        name: string;
                    };
                };
            };
            /**
             * @description Status says what was fetched. Before an operator has seen the Repository, observedGeneration is -1.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /** @description Conditions: Ready always; Stalled only while a person has to act. */
                conditions?: {
                    /**
                     * Format: date-time
                     * @description lastTransitionTime is the last time the condition transitioned from one status to another.
                     *     This should be when the underlying condition changed.  If that is not known, then using the time when the API field changed is acceptable.
                     */
                    lastTransitionTime: string;
                    /**
                     * @description message is a human readable message indicating details about the transition.
                     *     This may be an empty string.
                     */
                    message: string;
                    /**
                     * Format: int64
                     * @description observedGeneration represents the .metadata.generation that the condition was set based upon.
                     *     For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date
                     *     with respect to the current state of the instance.
                     */
                    observedGeneration?: number;
                    /**
                     * @description reason contains a programmatic identifier indicating the reason for the condition's last transition.
                     *     Producers of specific condition types may define expected values and meanings for this field,
                     *     and whether the values are considered a guaranteed API.
                     *     The value should be a CamelCase string.
                     *     This field may not be empty.
                     */
                    reason: string;
                    /**
                     * @description status of the condition, one of True, False, Unknown.
                     * @enum {string}
                     */
                    status: "True" | "False" | "Unknown";
                    /** @description type of condition in CamelCase or in foo.example.com/CamelCase. */
                    type: string;
                }[];
                /**
                 * @description LastFetch is the last fetch that brought something new, or that ended in another way than the one before it. One that
                 *     finds all as it was is not written down.
                 */
                lastFetch?: {
                    /**
                     * Format: date-time
                     * @description At is when it ended.
                     */
                    at: string;
                    /** @description Took is how long it was. */
                    took: string;
                };
                /** @description LastHandledRequest is the last request for a fetch (annotation cairn.dev/requested-at) after which a fetch ended. */
                lastHandledRequest?: {
                    /**
                     * @description Rejected says that the request was rejected, as when its time is in the future. It is not tried again; request again
                     *     with another value. A Repository rejects no request.
                     */
                    rejected?: boolean;
                    /**
                     * Format: date-time
                     * @description Time at which it was handled. Example: 2026-11-20T12:00:01Z
                     */
                    time: string;
                    /** @description Value of the annotation. Example: 2026-11-20T12:00:00Z */
                    value: string;
                };
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the rest of the status speaks of.
                 */
                observedGeneration?: number;
                /** @description Refs that Stacks use, and the default one, with the commits they name; at most 200. */
                refs?: {
                    /** @description Name as Stacks or the Repository spell it; HEAD for the remote's default branch. */
                    name: string;
                    /** @description Revision it names: the ref and the commit. Example: main@sha1:1f3c... Empty when there is no such ref. */
                    revision?: string;
                }[];
            };
        };
        /**
         * @description Run is one plan of a Stack and, if it is approved, the apply of exactly that plan. Cairn makes Runs; people read
         *     them and approve them.
         */
        Run: {
            /**
             * @description APIVersion defines the versioned schema of this representation of an object.
             *     Servers should convert recognized schemas to the latest internal value, and
             *     may reject unrecognized values.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
             */
            apiVersion?: string;
            /**
             * @description Kind is a string value representing the REST resource this object represents.
             *     Servers may infer this from the endpoint the client submits requests to.
             *     Cannot be updated.
             *     In CamelCase.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
             */
            kind?: string;
            metadata: components["schemas"]["Metadata"];
            /** @description Spec says what to do. It never changes, but for the approval. */
            spec: {
                /** @description Approval is written by the person who read the plan. It fits exactly one plan, and takes the verb approve on this Run. */
                approval?: {
                    /** @description By is who approves: the name under which the API server knows who writes this, and no other. */
                    by: string;
                    /** @description PlanDigest is status.plan.digest of the plan that was read. */
                    planDigest: string;
                };
                /**
                 * @description Cancel ends the Run. What is queued or waits for an approval ends at once; an engine at work is interrupted, finishes
                 *     what it has in flight and saves the state. It takes the verb cancel on this Run, and cannot be taken back.
                 */
                cancel?: boolean;
                /** @description CanceledBy is who cancels. */
                canceledBy?: string;
                /** @description Cause says why there is this Run. */
                cause: {
                    /** @description By is who caused it, where that is known: the author of a commit, who asked for the Run, who changed the Stack. */
                    by?: string;
                    /** @description Message for a person. Example: "Secret fleet-tfvars changed". */
                    message?: string;
                    /**
                     * @description Type of the cause.
                     * @enum {string}
                     */
                    type: "Spec" | "Variables" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual";
                };
                /**
                 * @description InputsDigest is the digest of everything that decides the result: the code, the values and the engine. It is status.inputsDigest of
                 *     the Stack when the Run was created, or for a destroy that of the last apply. Example: sha256:1f3c....
                 */
                inputsDigest: string;
                /**
                 * @description Operation: Apply plans and applies, Plan only plans, Destroy plans the end of everything and applies that, Shell holds a
                 *     pod for a person to work in.
                 * @enum {string}
                 */
                operation: "Apply" | "Plan" | "Destroy" | "Shell";
                /**
                 * @description PreventSelfApproval rejects an approval by cause.by. It is spec.preventSelfApproval of the Stack when the Run was created.
                 *     Default: false. Example: true.
                 */
                preventSelfApproval?: boolean;
                /** @description Rejection ends a Run that waits for an approval: nothing is applied. It takes the verb reject on this Run. */
                rejection?: {
                    /** @description By is who rejects: the name under which the API server knows who writes this, and no other. */
                    by: string;
                    /** @description PlanDigest is status.plan.digest of the plan that was read. */
                    planDigest: string;
                    /** @description Reason for those who wanted the change. Example: "not on a Friday". */
                    reason?: string;
                };
                /** @description Revision names the source among the inputs, for people. */
                revision?: string;
                /** @description Stack that the Run is of, in the same namespace. */
                stack: {
                    /** @description Name of the object. */
                    name: string;
                };
            };
            /**
             * @description Status says how far it is. Before an operator has seen the Run, it has the condition Reconciling.
             * @default {
             *       "conditions": [
             *         {
             *           "lastTransitionTime": "1970-01-01T00:00:00Z",
             *           "message": "no operator has seen the Run yet",
             *           "reason": "Pending",
             *           "status": "True",
             *           "type": "Reconciling"
             *         }
             *       ]
             *     }
             */
            status: {
                /**
                 * @description Attempts, oldest first. The last one is the current one. When there are more than 20 the oldest are dropped, but
                 *     not the newest that may have changed something.
                 */
                attempts?: {
                    /**
                     * Format: int32
                     * @description Changed is how many resources an apply that did not succeed has changed; the plan's counts say of how many.
                     */
                    changed?: number;
                    /** @description Failure says why it did not succeed. */
                    failure?: {
                        /**
                         * @description Class says what to do about it.
                         * @enum {string}
                         */
                        class: "Transient" | "ConfigurationError" | "PolicyDenied" | "PodLost" | "Canceled" | "StateNotSaved";
                        /** @description Message is the engine's first error, or what became of the pod. */
                        message: string;
                        /** @description Reason is set where the class does not say enough: BackendInCode. The Stack's Ready condition then has the same reason. */
                        reason?: string;
                    };
                    /**
                     * Format: date-time
                     * @description FinishedAt is when it ended.
                     */
                    finishedAt?: string;
                    /**
                     * Format: int32
                     * @description Number counts from 1.
                     */
                    number: number;
                    /**
                     * @description Phase it tries.
                     * @enum {string}
                     */
                    phase: "Build" | "Plan" | "Apply" | "Shell";
                    /** @description Pod it runs in. */
                    pod: string;
                    /** @description PodUID is the one pod whose reports and state writes are accepted for this attempt. */
                    podUID: string;
                    /**
                     * Format: date-time
                     * @description StartedAt is when the pod was made or, for a pod that lives already, when it was given the work.
                     */
                    startedAt: string;
                    /** @description Steps, in order. */
                    steps?: {
                        /**
                         * Format: int32
                         * @description ExitCode of the program it ran, if it ran one.
                         */
                        exitCode?: number;
                        /**
                         * Format: date-time
                         * @description FinishedAt is when it ended.
                         */
                        finishedAt?: string;
                        /** @description Message is one line on what happened. */
                        message?: string;
                        /** @description Name of the step. A hook is named for when it runs: before-init, after-plan, and after-plan-2 for the second one. */
                        name: string;
                        /**
                         * Format: date-time
                         * @description StartedAt is when it began.
                         */
                        startedAt?: string;
                        /**
                         * @description State of the step.
                         * @enum {string}
                         */
                        state: "Waiting" | "Running" | "Succeeded" | "Failed" | "Skipped";
                    }[];
                }[];
                /**
                 * @description Conditions: Succeeded, Unknown until the Run is finished; Reconciling only until it is finished; Stalled only when it failed
                 *     or was canceled.
                 */
                conditions?: {
                    /**
                     * Format: date-time
                     * @description lastTransitionTime is the last time the condition transitioned from one status to another.
                     *     This should be when the underlying condition changed.  If that is not known, then using the time when the API field changed is acceptable.
                     */
                    lastTransitionTime: string;
                    /**
                     * @description message is a human readable message indicating details about the transition.
                     *     This may be an empty string.
                     */
                    message: string;
                    /**
                     * Format: int64
                     * @description observedGeneration represents the .metadata.generation that the condition was set based upon.
                     *     For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date
                     *     with respect to the current state of the instance.
                     */
                    observedGeneration?: number;
                    /**
                     * @description reason contains a programmatic identifier indicating the reason for the condition's last transition.
                     *     Producers of specific condition types may define expected values and meanings for this field,
                     *     and whether the values are considered a guaranteed API.
                     *     The value should be a CamelCase string.
                     *     This field may not be empty.
                     */
                    reason: string;
                    /**
                     * @description status of the condition, one of True, False, Unknown.
                     * @enum {string}
                     */
                    status: "True" | "False" | "Unknown";
                    /** @description type of condition in CamelCase or in foo.example.com/CamelCase. */
                    type: string;
                }[];
                /**
                 * Format: date-time
                 * @description FinishedAt is when the phase became final.
                 */
                finishedAt?: string;
                /**
                 * @description Image is the one that was built for this Run, or that an earlier Run built from the same: with spec.runner.build of the
                 *     Stack, what plans and applies.
                 */
                image?: {
                    /** @description Digest of the image, as its registry knows it; empty while it is built. */
                    digest?: string;
                    /** @description Key is the digest over all that the image is built from. */
                    key: string;
                    /** @description Run that built it. */
                    run?: string;
                };
                /**
                 * Format: date-time
                 * @description NextAttempt is when the next try begins, after one that failed for a passing reason.
                 */
                nextAttempt?: string;
                /** @description Outputs after the apply that are not sensitive; long ones, and any past 64, are left out. */
                outputs?: {
                    [key: string]: unknown;
                };
                /**
                 * @description Phase; empty means Queued.
                 * @enum {string}
                 */
                phase?: "Queued" | "Planning" | "AwaitingApproval" | "Applying" | "Shell" | "Succeeded" | "Failed" | "Canceled" | "Superseded";
                /** @description Plan is the newest plan. */
                plan?: {
                    /**
                     * Format: int32
                     * @description Add is how many resources would be created; a replacement counts here and in Destroy, as engines count it.
                     */
                    add: number;
                    /**
                     * Format: int32
                     * @description Change is how many would be changed in place.
                     */
                    change: number;
                    /** @description Changes is whether applying the plan would do anything, outputs included. */
                    changes: boolean;
                    /**
                     * Format: int32
                     * @description Destroy is how many would be destroyed; a replacement counts here and in Add.
                     */
                    destroy: number;
                    /** @description Digest is the sha256 of the saved plan. Exactly these bytes are applied. */
                    digest: string;
                    /** @description EngineVersion is the exact version of the engine that made it; only that one applies it. Example: 1.12.6. */
                    engineVersion?: string;
                    /**
                     * Format: int32
                     * @description Forget is how many would leave the state and live on.
                     */
                    forget: number;
                    /**
                     * Format: int32
                     * @description Import is how many would be taken into the state.
                     */
                    import: number;
                    /**
                     * @description Orphaned are resources that an apply made whose engine was killed, and that could not be taken into the state. As long as
                     *     there are any, only a person lets the plan be applied: it may make them a second time. At most 100.
                     */
                    orphaned?: {
                        /** @description Address of the resource. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                        /** @description Reason why it could not be taken into the state. */
                        reason: string;
                    }[];
                    /** @description Policy is what the policies say of it; absent when there were none to ask. */
                    policy?: {
                        /**
                         * Format: int32
                         * @description ApprovalRequired is how many require an approval before the plan is applied, also where spec.apply is Automatic.
                         */
                        approvalRequired?: number;
                        /**
                         * Format: int32
                         * @description Checked is how many modules and validations looked at it.
                         */
                        checked: number;
                        /**
                         * Format: int32
                         * @description Denied is how many findings refuse it.
                         */
                        denied: number;
                        /** @description Findings, those that refuse it first, then those that require an approval; at most 50, the counts count all. */
                        findings?: {
                            /**
                             * @description Action: Deny, RequireApproval or Warn.
                             * @enum {string}
                             */
                            action: "Deny" | "RequireApproval" | "Warn";
                            /** @description Message for a person. */
                            message: string;
                            /**
                             * @description Policy that says it: the ConfigMap and its key. Example: rules/tags.rego; one that the install requires begins with
                             *     its namespace: cairn-system/rules/tags.rego.
                             */
                            policy: string;
                        }[];
                        /**
                         * Format: int32
                         * @description Warned is how many only warn.
                         */
                        warned: number;
                    };
                    /**
                     * Format: int32
                     * @description Replace is how many of Add and of Destroy are a replacement: one resource that is destroyed and created.
                     */
                    replace: number;
                    /** @description Resources are the changes, destroys and replaces first; at most 100, the counts count all. */
                    resources?: {
                        /** @description Action: create, update, delete, replace, import, forget, move. */
                        action: string;
                        /** @description Address of the resource. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                    }[];
                    /** @description Script says that a script of the Stack's spec.commands applies it, in place of the engine. */
                    script?: boolean;
                    /** @description Wrapped is the engine that Terragrunt ran, with the exact version; only that one applies the plan. */
                    wrapped?: {
                        /**
                         * @description Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
                         *     Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
                         *     otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
                         *     .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
                         *     required_version; and when the code says nothing, any version. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * Format: int32
                 * @description Retries is how many tries followed a failed one.
                 */
                retries?: number;
            };
        };
        /**
         * @description Stack is one root module with its variables and its one state: the unit people own. Cairn plans every change of
         *     it, waits for approval where asked, applies exactly what was approved, and destroys on deletion.
         */
        Stack: {
            /**
             * @description APIVersion defines the versioned schema of this representation of an object.
             *     Servers should convert recognized schemas to the latest internal value, and
             *     may reject unrecognized values.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
             */
            apiVersion?: string;
            /**
             * @description Kind is a string value representing the REST resource this object represents.
             *     Servers may infer this from the endpoint the client submits requests to.
             *     Cannot be updated.
             *     In CamelCase.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
             */
            kind?: string;
            metadata: components["schemas"]["Metadata"];
            /** @description Spec says what the Stack is made of and the rules it is changed by. */
            spec: {
                /**
                 * @description Apply says what follows a plan that has changes. Manual: it waits until a person approves that very plan.
                 *     Automatic: it is applied at once, unless requireApprovalFor, preventSelfApproval or a policy requires an approval. Never: it is
                 *     only shown. Manual covers destroys too.
                 * @default Manual
                 * @enum {string}
                 */
                apply: "Manual" | "Automatic" | "Never";
                /** @description Backend keeps the state where it is said. Absent: Cairn keeps it. */
                backend?: {
                    /**
                     * @description Config are the backend's arguments, as in its block; any JSON value each. They are stored in the Stack in clear: use
                     *     configFrom for secrets. Example: {bucket: states, key: net.tfstate, region: eu-west-1}.
                     */
                    config?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description ConfigFrom are Secrets of the Stack's namespace each of whose keys is an argument of the backend; they win over config, and a later
                     *     one over an earlier one. Credentials may as well be in env and envFrom, under the names that the engine knows.
                     */
                    configFrom?: {
                        /** @description Secret in the Stack's namespace. Its values never appear in logs and status. */
                        secret: {
                            /** @description Name of the object. */
                            name: string;
                        };
                    }[];
                    /**
                     * @description Create makes what the backend keeps states in when it is not there, and never changes or deletes what is: for s3 the bucket, with
                     *     versions and encryption, and the lock's table. Only for s3.
                     */
                    create?: boolean;
                    /**
                     * @description FromCode takes the backend block of the code as it is. With a type beside it, type and config are for code
                     *     without a block. They also complete a block of that type that leaves out an argument the backend needs, as an
                     *     empty one does; what the block has wins. A block of another type is taken alone. Type beside fromCode does not
                     *     work with Terragrunt. Default: false, the block of the code is replaced.
                     */
                    fromCode?: boolean;
                    /** @description Type of the backend, as in the code's own backend block. Example: s3. */
                    type?: string;
                };
                /** @description Commands are scripts in place of the engine's own apply and destroy. */
                commands?: {
                    /** @description Apply runs in place of the engine's apply. */
                    apply?: {
                        /** @description ConfigMap key that holds the script, in the Stack's namespace. */
                        configMap?: {
                            /** @description Key within the object's data. */
                            key: string;
                            /** @description Name of the object. */
                            name: string;
                        };
                        /** @description Script itself. */
                        script?: string;
                    };
                    /**
                     * @description Destroy runs in place of the engine's apply of a plan that destroys all. A Stack that is deleted goes when its state is empty,
                     *     whatever the script says.
                     */
                    destroy?: {
                        /** @description ConfigMap key that holds the script, in the Stack's namespace. */
                        configMap?: {
                            /** @description Key within the object's data. */
                            key: string;
                            /** @description Name of the object. */
                            name: string;
                        };
                        /** @description Script itself. */
                        script?: string;
                    };
                };
                /**
                 * @description DeletionPolicy says what deleting the Stack does. Destroy: its resources are destroyed first, with the inputs that were
                 *     last applied. Orphan: its resources stay, and so does its State. Protect: the API server denies the deletion. A plan that is
                 *     in progress when the Stack is deleted is canceled; an apply finishes first. Default: Destroy. Example: Protect.
                 * @default Destroy
                 * @enum {string}
                 */
                deletionPolicy: "Destroy" | "Orphan" | "Protect";
                /**
                 * @description DependsOn names Stacks of the same namespace that have to be applied before this one is planned, and that are
                 *     destroyed after it.
                 */
                dependsOn?: {
                    /** @description Name of the Stack. */
                    name: string;
                }[];
                /**
                 * @description Drift says how often Cairn checks whether what exists is still as it was applied, and what follows when it is not. Absent: the
                 *     checks are as often as the installation's default, and drift is reported.
                 */
                drift?: {
                    /**
                     * @description Interval is the time between two drift checks, at least 10s and at most 8760h. 0s turns the checks of this Stack off. The
                     *     checks of all Stacks are spread evenly over it. Default: that of the installation (chart value drift.interval), which is 12h
                     *     unless an administrator changes it. Example: 1h.
                     */
                    interval?: string;
                    /**
                     * @description OnDrift says what follows drift. Report: a condition tells it. Apply: a Run puts back what was declared, after an
                     *     approval where its plan requires one, as with any other change (spec.apply, spec.requireApprovalFor).
                     * @default Report
                     * @enum {string}
                     */
                    onDrift: "Report" | "Apply";
                };
                /**
                 * @description Engine is what plans and applies the code. What it leaves out is taken from spec.engine of the Repository, if the code is from
                 *     one; status.engine says what came of both.
                 * @default {}
                 */
                engine: {
                    /**
                     * @description Name of the engine: OpenTofu, Terraform or Terragrunt. Default: that of the Repository, or OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a constraint on the engine's version, as in required_version. The engine of the runner's image is taken
                     *     when it meets it, otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the
                     *     code says, from git, a ConfigMap or inline: the nearest .opentofu-version, .terraform-version or .terragrunt-version file from
                     *     the root module's folder up, or else required_version; and when the code says nothing, any version. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs; only for Terragrunt. Absent: OpenTofu, or Terraform where the runner's image has
                     *     that and no OpenTofu, in a version that the code asks for. Example: {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
                         *     Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
                         *     otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
                         *     .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
                         *     required_version; and when the code says nothing, any version. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description Env are environment variables for the engine and its providers. Values from Secrets never appear in logs.
                 *     Names that start with CAIRN_ are refused: they are Cairn's own.
                 */
                env?: {
                    /**
                     * @description Name of the environment variable.
                     *     May consist of any printable ASCII characters except '='.
                     */
                    name: string;
                    /**
                     * @description Variable references $(VAR_NAME) are expanded
                     *     using the previously defined environment variables in the container and
                     *     any service environment variables. If a variable cannot be resolved,
                     *     the reference in the input string will be unchanged. Double $$ are reduced
                     *     to a single $, which allows for escaping the $(VAR_NAME) syntax: i.e.
                     *     "$$(VAR_NAME)" will produce the string literal "$(VAR_NAME)".
                     *     Escaped references will never be expanded, regardless of whether the variable
                     *     exists or not.
                     *     Defaults to "".
                     */
                    value?: string;
                    /** @description Source for the environment variable's value. Cannot be used if value is not empty. */
                    valueFrom?: {
                        /** @description Selects a key of a ConfigMap. */
                        configMapKeyRef?: {
                            /**
                             * @description The key to select from the ConfigMap's Data field.
                             *     Keys in the BinaryData field are not currently propagated to container env vars.
                             */
                            key: string;
                            /**
                             * @description Name of the referent.
                             *     This field is effectively required, but due to backwards compatibility is
                             *     allowed to be empty. Instances of this type with an empty value here are
                             *     almost certainly wrong.
                             *     More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names
                             * @default
                             */
                            name: string;
                            /** @description Specify whether the ConfigMap or its key must be defined */
                            optional?: boolean;
                        };
                        /**
                         * @description Selects a field of the pod: supports metadata.name, metadata.namespace, `metadata.labels['<KEY>']`, `metadata.annotations['<KEY>']`,
                         *     spec.nodeName, spec.serviceAccountName, status.hostIP, status.podIP, status.podIPs.
                         */
                        fieldRef?: {
                            /** @description Version of the schema the FieldPath is written in terms of, defaults to "v1". */
                            apiVersion?: string;
                            /** @description Path of the field to select in the specified API version. */
                            fieldPath: string;
                        };
                        /**
                         * @description FileKeyRef selects a key of the env file.
                         *     Requires the EnvFiles feature gate to be enabled.
                         */
                        fileKeyRef?: {
                            /**
                             * @description The key within the env file. An invalid key will prevent the pod from starting.
                             *     The keys defined within a source may consist of any printable ASCII characters except '='.
                             *     During Alpha stage of the EnvFiles feature gate, the key size is limited to 128 characters.
                             */
                            key: string;
                            /**
                             * @description Specify whether the file or its key must be defined. If the file or key
                             *     does not exist, then the env var is not published.
                             *     If optional is set to true and the specified key does not exist,
                             *     the environment variable will not be set in the Pod's containers.
                             *
                             *     If optional is set to false and the specified key does not exist,
                             *     an error will be returned during Pod creation.
                             * @default false
                             */
                            optional: boolean;
                            /**
                             * @description The path within the volume from which to select the file.
                             *     Must be relative and may not contain the '..' path or start with '..'.
                             */
                            path: string;
                            /** @description The name of the volume mount containing the env file. */
                            volumeName: string;
                        };
                        /**
                         * @description Selects a resource of the container: only resources limits and requests
                         *     (limits.cpu, limits.memory, limits.ephemeral-storage, requests.cpu, requests.memory and requests.ephemeral-storage) are currently supported.
                         */
                        resourceFieldRef?: {
                            /** @description Container name: required for volumes, optional for env vars */
                            containerName?: string;
                            /** @description Specifies the output format of the exposed resources, defaults to "1" */
                            divisor?: number | string;
                            /** @description Required: resource to select */
                            resource: string;
                        };
                        /** @description Selects a key of a secret in the pod's namespace */
                        secretKeyRef?: {
                            /** @description The key of the secret to select from.  Must be a valid secret key. */
                            key: string;
                            /**
                             * @description Name of the referent.
                             *     This field is effectively required, but due to backwards compatibility is
                             *     allowed to be empty. Instances of this type with an empty value here are
                             *     almost certainly wrong.
                             *     More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names
                             * @default
                             */
                            name: string;
                            /** @description Specify whether the Secret or its key must be defined */
                            optional?: boolean;
                        };
                    };
                }[];
                /** @description EnvFrom adds every key of a Secret or ConfigMap as an environment variable; Env wins over it. */
                envFrom?: {
                    /** @description The ConfigMap to select from */
                    configMapRef?: {
                        /**
                         * @description Name of the referent.
                         *     This field is effectively required, but due to backwards compatibility is
                         *     allowed to be empty. Instances of this type with an empty value here are
                         *     almost certainly wrong.
                         *     More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names
                         * @default
                         */
                        name: string;
                        /** @description Specify whether the ConfigMap must be defined */
                        optional?: boolean;
                    };
                    /**
                     * @description Optional text to prepend to the name of each environment variable.
                     *     May consist of any printable ASCII characters except '='.
                     */
                    prefix?: string;
                    /** @description The Secret to select from */
                    secretRef?: {
                        /**
                         * @description Name of the referent.
                         *     This field is effectively required, but due to backwards compatibility is
                         *     allowed to be empty. Instances of this type with an empty value here are
                         *     almost certainly wrong.
                         *     More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names
                         * @default
                         */
                        name: string;
                        /** @description Specify whether the Secret must be defined */
                        optional?: boolean;
                    };
                }[];
                /** @description Hooks are scripts that run before or after a step, in the pod, beside the code. They run in the order given. */
                hooks?: {
                    /** @description ConfigMap key that holds the script, in the Stack's namespace. */
                    configMap?: {
                        /** @description Key within the object's data. */
                        key: string;
                        /** @description Name of the object. */
                        name: string;
                    };
                    /**
                     * @description OnFailure: Fail ends the attempt, Continue goes on and only shows that the hook failed.
                     * @default Fail
                     * @enum {string}
                     */
                    onFailure: "Fail" | "Continue";
                    /** @description Script itself. */
                    script?: string;
                    /**
                     * @description Step that it is around: fetch, engine, init, plan, policy, apply or outputs.
                     * @enum {string}
                     */
                    step: "fetch" | "engine" | "init" | "plan" | "policy" | "apply" | "outputs";
                    /**
                     * @description When: Before or After the step. After runs only where the step succeeded.
                     * @enum {string}
                     */
                    when: "Before" | "After";
                }[];
                /** @description ModuleCredentials are for modules that the code fetches with git itself (source = "git::..."), each for one host. */
                moduleCredentials?: {
                    /** @description Host, with the port if it has one. Example: git.example.com. */
                    host: string;
                    /** @description Secret in the Stack's namespace: username and password, or bearerToken, or identity and known_hosts. */
                    secret: {
                        /** @description Name of the object. */
                        name: string;
                    };
                }[];
                /** @description Outputs names the objects that receive the code's outputs. Nothing is written when absent. */
                outputs?: {
                    /** @description ConfigMap receives the outputs that are not sensitive. */
                    configMap?: {
                        /** @description Name of the object. */
                        name: string;
                    };
                    /** @description Secret receives every output. */
                    secret?: {
                        /** @description Name of the object. */
                        name: string;
                    };
                };
                /**
                 * @description Policies look at each plan that has changes, before anybody is asked to approve it. The install may require more of
                 *     them.
                 */
                policies?: {
                    /** @description ConfigMap in the Stack's namespace. */
                    configMap: {
                        /** @description Name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description PreventSelfApproval rejects an approval by the user who caused the change: the user who requested the Run, changed the
                 *     Stack or wrote the commit. With it every plan that has changes waits for an approval, also where spec.apply is Automatic.
                 *     Where no user is known to have caused the change, as with drift or a changed Secret, any user who may approve can.
                 *     Default: false. Example: true.
                 */
                preventSelfApproval?: boolean;
                /**
                 * @description RequireApprovalFor lists the kinds of change that wait for an approval although apply is Automatic. A plan with at
                 *     least one of them waits as a whole, also when it corrects drift. With apply Manual every plan waits anyway, and with
                 *     Never nothing is applied: then this list changes nothing. Empty: no kind waits.
                 *     Example: [Delete], which applies by itself, but asks before anything is destroyed.
                 */
                requireApprovalFor?: ("Create" | "Update" | "Replace" | "Delete" | "StackDeletion")[];
                /**
                 * @description Retry says how often a Run that failed for a passing reason is tried again, each time with a new plan.
                 * @default {}
                 */
                retry: {
                    /**
                     * @description Backoff is the wait before the second try; it doubles with each further one.
                     * @default 15s
                     */
                    backoff: string;
                    /**
                     * Format: int32
                     * @description Limit is how many tries may follow the first one; 0 never retries.
                     * @default 3
                     */
                    limit: number;
                    /**
                     * @description MaxBackoff is the longest wait between two tries. A destroy that failed as often as Limit allows is started
                     *     again after this time, for as long as the Stack is being deleted.
                     * @default 10m
                     */
                    maxBackoff: string;
                };
                /**
                 * Format: int32
                 * @description RunHistoryLimit is the number of finished Runs to keep; older ones are deleted with their plans and logs. Runs that the
                 *     Stack's status refers to are kept also with 0. Drift checks are not counted: only the newest is kept. Default: 10. Example: 3.
                 * @default 10
                 */
                runHistoryLimit: number;
                /**
                 * @description Runner shapes the pods that run the engine.
                 * @default {}
                 */
                runner: {
                    /** @description Build builds the image in the cluster, from a Dockerfile of the source, in place of Image. */
                    build?: {
                        /** @description Args are values for the Dockerfile's ARG instructions. They are in the image's history for all to see: no secrets. */
                        args?: {
                            /** @description Name of the ARG. */
                            name: string;
                            /** @description Value of it. */
                            value?: string;
                        }[];
                        /**
                         * @description Builder that does it: Buildah, BuildKit or Kaniko.
                         * @default Buildah
                         * @enum {string}
                         */
                        builder: "Buildah" | "BuildKit" | "Kaniko";
                        /** @description BuilderImage has the builder. Default: what the install names for that builder. */
                        builderImage?: string;
                        /**
                         * @description Cache is a repository for layers, so that a build begins where the last one got to. Absent: nothing is kept between builds.
                         *     Example: registry.example.com/acme/terraform-cache.
                         */
                        cache?: string;
                        /**
                         * @description Context is the folder whose files the Dockerfile may copy, from the same root; "." is all of it. A change of any file in
                         *     it builds anew, so it is best a small folder. Default: the Dockerfile's folder.
                         */
                        context?: string;
                        /**
                         * @description Dockerfile is its path from the root of the repository or, of code that is not from git, the name of its file.
                         * @default Dockerfile
                         */
                        dockerfile: string;
                        /**
                         * @description Image is the repository to push to, without a tag or a digest: Runs take what was pushed by its digest.
                         *     Example: registry.example.com/acme/terraform.
                         */
                        image: string;
                        /** @description Insecure lets the registry of the image have no certificate, or one that nobody trusts. */
                        insecure?: boolean;
                        /**
                         * @description Optional builds no image when the code has no such Dockerfile: the Stack then runs in the default image of the installation.
                         *     Default: false, the Stack waits with DockerfileNotFound. Example: true.
                         */
                        optional?: boolean;
                        /**
                         * @description PushSecret is of type kubernetes.io/dockerconfigjson, in the Stack's namespace: the builder pulls and pushes with it, and the
                         *     kubelet pulls the image with it. The engine's pod does not have it.
                         */
                        pushSecret?: {
                            /** @description Name of the object. */
                            name: string;
                        };
                        /** @description Target is the stage of the Dockerfile to build. Default: the last one. */
                        target?: string;
                    };
                    /**
                     * @description IdleTimeout is how long the pod of a plan waits for the approval before it exits. An approval within this time is applied in
                     *     the same pod; a later one needs a new pod. 0s exits at once. Default: 30s. Example: 10m.
                     * @default 30s
                     */
                    idleTimeout: string;
                    /**
                     * @description Image has the engine and whatever the code calls. Cairn's runner is copied into it and needs nothing of it.
                     *     Default: the image the operator was started with.
                     */
                    image?: string;
                    /** @description Resources of the container that runs the engine. Default: requests of 100m CPU and 256Mi memory. */
                    resources?: {
                        /** @description Limits are what it may use at most. */
                        limits?: {
                            [key: string]: number | string;
                        };
                        /** @description Requests are what the container is promised. Example: {cpu: 500m, memory: 1Gi}. */
                        requests?: {
                            [key: string]: number | string;
                        };
                    };
                    /**
                     * @description ServiceAccountName is the account the pod runs as, in the Stack's namespace; it is how a cloud knows the runner
                     *     (workload identity). It needs no Kubernetes permission. Default: the namespace's default account.
                     */
                    serviceAccountName?: string;
                    /**
                     * @description Template is laid over the pod, as a strategic merge patch of kind PodTemplate: labels and annotations, nodeSelector,
                     *     tolerations, affinity, volumes, imagePullSecrets, dnsConfig, init containers (with restartPolicy Always: sidecars), and of
                     *     the container `engine` env, volumeMounts and securityContext. Unknown fields are refused, and so is what is Cairn's
                     *     own: docs/tenancy.md has the list. The pod has to fit Pod Security "restricted", unless the install allows more.
                     *     At most 64 KiB. Example: {spec: {nodeSelector: {pool: runners}}}.
                     */
                    template?: Record<string, never>;
                };
                /** @description Source is where the code comes from. Exactly one of its fields is set. */
                source: {
                    /** @description ConfigMap in the Stack's namespace; each key of its data and binaryData is a file of the root module. */
                    configMap?: {
                        /** @description Name of the object. */
                        name: string;
                    };
                    /** @description Git takes the code from a Repository. */
                    git?: {
                        /** @description Path of the root module's folder from the repository's root. Default: the root. Example: envs/prod/network. */
                        path?: string;
                        /** @description Ref is a branch, a tag or a commit. Default: the Repository's spec.ref. */
                        ref?: string;
                        /** @description Repository that has the code. */
                        repository: {
                            /** @description Name of the Repository. */
                            name: string;
                            /** @description Namespace of the Repository, whose spec.allowedNamespaces has to name the Stack's. Default: the Stack's own. */
                            namespace?: string;
                        };
                        /**
                         * @description Triggers are globs over the paths of the repository; ** is any number of folders. Files that match belong to the
                         *     Stack and come with its code: they are in the pod, and a commit that changes one of them plans the Stack. The folder,
                         *     local modules and files whose path the code names belong without a trigger. Example: ["policies/**"].
                         */
                        triggers?: string[];
                    };
                    /** @description Inline maps the path of a file, relative to the root module, to its text. Example: {"main.tf": "..."}. */
                    inline?: {
                        [key: string]: string;
                    };
                };
                /** @description Suspend stops Cairn from starting anything new for this Stack, deletion too. What runs already goes on. */
                suspend?: boolean;
                /**
                 * @description Timeout is how long one attempt at a plan or an apply may take. When it is over the engine is interrupted, so
                 *     that it saves its state, and the attempt counts as failed for a passing reason.
                 * @default 1h
                 */
                timeout: string;
                /**
                 * @description VariableFiles are Secrets and ConfigMaps whose *.tfvars and *.tfvars.json keys are given to the engine as
                 *     variable files, in the order of this list and, within one object, in key order. Later ones win. Other keys are
                 *     left alone.
                 */
                variableFiles?: {
                    /** @description ConfigMap in the Stack's namespace. */
                    configMap?: {
                        /** @description Name of the object. */
                        name: string;
                    };
                    /**
                     * @description Path of a *.tfvars or *.tfvars.json file of the source: in git from the repository's root, otherwise beside the code.
                     *     Files that the engine reads by itself (terraform.tfvars, *.auto.tfvars) need not be named.
                     */
                    path?: string;
                    /** @description Secret in the Stack's namespace. Its values never appear in logs and status. */
                    secret?: {
                        /** @description Name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description Variables are values for the code's input variables, each name at most once; their order does not matter. All of
                 *     them win over variableFiles. Several field managers can each own some of them (server-side apply). A name that the
                 *     code does not declare is rejected with the plan. Example: [{name: servers, value: 3}].
                 */
                variables?: {
                    /** @description Name of the variable as the code declares it. */
                    name: string;
                    /** @description Value is any JSON value. It is stored in the Stack in clear: use valueFrom for secrets. */
                    value?: unknown;
                    /** @description ValueFrom takes the value from another object: as a string, or an output of a Stack as it is. */
                    valueFrom?: {
                        /** @description ConfigMap key in the Stack's namespace. */
                        configMap?: {
                            /** @description Key within the object's data. */
                            key: string;
                            /** @description Name of the object. */
                            name: string;
                        };
                        /** @description Secret key in the Stack's namespace. The value never appears in logs and status. */
                        secret?: {
                            /** @description Key within the object's data. */
                            key: string;
                            /** @description Name of the object. */
                            name: string;
                        };
                        /**
                         * @description Stack whose output is the value. The other Stack is a dependency, as if it were in dependsOn; this one is run again
                         *     when that output changes, and only then. A sensitive output stays one.
                         */
                        stack?: {
                            /** @description Name of the Stack. */
                            name: string;
                            /** @description Output of its code. */
                            output: string;
                        };
                    };
                }[];
                /**
                 * @description Windows say when plans, applies and destroys may begin. What has begun goes on when a window closes. Deny wins; where
                 *     there is an Allow for an operation it may begin only inside one. Empty: always.
                 */
                windows?: {
                    /** @description Duration is how long it stays open. */
                    duration: string;
                    /**
                     * @description Kind: Allow or Deny.
                     * @enum {string}
                     */
                    kind: "Allow" | "Deny";
                    /**
                     * @description Operations that it is about: Plan is the beginning of any Run, Apply and Destroy what follows the plan. Default: Apply
                     *     and Destroy.
                     */
                    operations?: ("Apply" | "Plan" | "Destroy" | "Shell")[];
                    /**
                     * @description Schedule is when the window opens, in the five fields of cron: minute, hour, day of month, month, day of week.
                     *     Example: "0 18 * * 5", each Friday at 18:00.
                     */
                    schedule: string;
                    /** @description TimeZone of the schedule, as in the IANA time zone database. Default: UTC. Example: Europe/Berlin. */
                    timeZone?: string;
                }[];
            };
            /**
             * @description Status says what is known of it. Before an operator has seen the Stack, observedGeneration is -1.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /** @description AppliedImage is the one that was last applied with: a destroy takes it. */
                appliedImage?: {
                    /** @description Digest of the image, as its registry knows it; empty while it is built. */
                    digest?: string;
                    /** @description Key is the digest over all that the image is built from. */
                    key: string;
                    /** @description Run that built it. */
                    run?: string;
                };
                /** @description AppliedInputsDigest is the digest of the inputs that were last applied, or that needed no change. Example: sha256:1f3c.... */
                appliedInputsDigest?: string;
                /**
                 * @description Conditions: Ready always; Drifted only while drift is known; Stalled only while a person has to act.
                 *     Ready=True says that the last applied inputs are the current ones, that no drift is known and that nothing failed.
                 */
                conditions?: {
                    /**
                     * Format: date-time
                     * @description lastTransitionTime is the last time the condition transitioned from one status to another.
                     *     This should be when the underlying condition changed.  If that is not known, then using the time when the API field changed is acceptable.
                     */
                    lastTransitionTime: string;
                    /**
                     * @description message is a human readable message indicating details about the transition.
                     *     This may be an empty string.
                     */
                    message: string;
                    /**
                     * Format: int64
                     * @description observedGeneration represents the .metadata.generation that the condition was set based upon.
                     *     For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date
                     *     with respect to the current state of the instance.
                     */
                    observedGeneration?: number;
                    /**
                     * @description reason contains a programmatic identifier indicating the reason for the condition's last transition.
                     *     Producers of specific condition types may define expected values and meanings for this field,
                     *     and whether the values are considered a guaranteed API.
                     *     The value should be a CamelCase string.
                     *     This field may not be empty.
                     */
                    reason: string;
                    /**
                     * @description status of the condition, one of True, False, Unknown.
                     * @enum {string}
                     */
                    status: "True" | "False" | "Unknown";
                    /** @description type of condition in CamelCase or in foo.example.com/CamelCase. */
                    type: string;
                }[];
                /** @description CurrentRun is the name of the Run in progress; absent when there is none. Example: net-7. */
                currentRun?: string;
                /**
                 * @description DestroyedByRun is the name of the Run that destroyed everything on request. While it is set, nothing is created again until
                 *     a user requests an apply. Example: net-8.
                 */
                destroyedByRun?: string;
                /** @description Drift is what the last drift check that went well found; absent before the first one. */
                drift?: {
                    /**
                     * Format: int32
                     * @description Add is how many resources would be created; a replacement counts here and in Destroy, as engines count it.
                     */
                    add: number;
                    /**
                     * Format: int32
                     * @description Change is how many would be changed in place.
                     */
                    change: number;
                    /**
                     * Format: date-time
                     * @description CheckedAt is when it was looked at last.
                     */
                    checkedAt: string;
                    /**
                     * Format: int32
                     * @description Destroy is how many would be destroyed; a replacement counts here and in Add.
                     */
                    destroy: number;
                    /**
                     * Format: int32
                     * @description Replace is how many of Add and of Destroy are a replacement: one resource that is destroyed and created.
                     */
                    replace: number;
                    /** @description Run that found it. */
                    run?: string;
                    /**
                     * Format: date-time
                     * @description Since is when the drift was first seen; absent when there is none.
                     */
                    since?: string;
                };
                /**
                 * @description DriftChecks says how often the Stack is checked for drift, which setting says so, and when the next check is due; absent when
                 *     checks are turned off.
                 */
                driftChecks?: {
                    /** @description Interval is the time between two drift checks. Example: 12h0m0s. */
                    interval: string;
                    /**
                     * Format: date-time
                     * @description Next is when the next check is due. It may start later, when it waits for a window or for the limit of concurrent Runs. Absent
                     *     while no check can start: the Stack was never applied, is suspended, or has a change to apply first.
                     */
                    next?: string;
                    /**
                     * @description SetBy says which setting Interval comes from. Stack: spec.drift.interval. Installation: the installation's default, which the chart
                     *     value drift.interval sets.
                     * @enum {string}
                     */
                    setBy: "Stack" | "Installation";
                };
                /**
                 * @description Engine is what plans and applies the code where the Repository's spec.engine decides a part of it; absent where only the
                 *     Stack's own does. Versions that the code asks for are not in it: they are in each Run's plan.
                 */
                engine?: {
                    /**
                     * @description Name of the engine: OpenTofu, Terraform or Terragrunt. Default: that of the Repository, or OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a constraint on the engine's version, as in required_version. The engine of the runner's image is taken
                     *     when it meets it, otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the
                     *     code says, from git, a ConfigMap or inline: the nearest .opentofu-version, .terraform-version or .terragrunt-version file from
                     *     the root module's folder up, or else required_version; and when the code says nothing, any version. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs; only for Terragrunt. Absent: OpenTofu, or Terraform where the runner's image has
                     *     that and no OpenTofu, in a version that the code asks for. Example: {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
                         *     Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
                         *     otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
                         *     .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
                         *     required_version; and when the code says nothing, any version. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description History are the Runs that went well and that are kept, oldest first, with as much of each as later ones are decided on. A Run
                 *     comes to be here in the write that tells its end. The others, and all about these, are in the Runs themselves.
                 */
                history?: {
                    /** @description Applied says that an apply of it began: where it found no changes, none did. */
                    applied?: boolean;
                    /** @description Cause is why it was made. Of older Runs only its type is here. */
                    cause: {
                        /** @description By is who caused it, where that is known: the author of a commit, who asked for the Run, who changed the Stack. */
                        by?: string;
                        /** @description Message for a person. Example: "Secret fleet-tfvars changed". */
                        message?: string;
                        /**
                         * @description Type of the cause.
                         * @enum {string}
                         */
                        type: "Spec" | "Variables" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual";
                    };
                    /** @description Details are there while something is decided on them. Of most Runs they are absent, and take no memory. */
                    details?: {
                        /** @description InputsDigest is spec.inputsDigest of the Run; absent for older Runs. Example: sha256:1f3c.... */
                        inputsDigest?: string;
                        /** @description Plan is what it would do, without its resources; absent of older Runs, and where there was none. */
                        plan?: {
                            /**
                             * Format: int32
                             * @description Add is how many resources would be created; a replacement counts here and in Destroy, as engines count it.
                             */
                            add: number;
                            /**
                             * Format: int32
                             * @description Change is how many would be changed in place.
                             */
                            change: number;
                            /** @description Changes is whether applying the plan would do anything, outputs included. */
                            changes: boolean;
                            /**
                             * Format: int32
                             * @description Destroy is how many would be destroyed; a replacement counts here and in Add.
                             */
                            destroy: number;
                            /** @description Digest is the sha256 of the saved plan. Exactly these bytes are applied. */
                            digest: string;
                            /** @description EngineVersion is the exact version of the engine that made it; only that one applies it. Example: 1.12.6. */
                            engineVersion?: string;
                            /**
                             * Format: int32
                             * @description Forget is how many would leave the state and live on.
                             */
                            forget: number;
                            /**
                             * Format: int32
                             * @description Import is how many would be taken into the state.
                             */
                            import: number;
                            /**
                             * @description Orphaned are resources that an apply made whose engine was killed, and that could not be taken into the state. As long as
                             *     there are any, only a person lets the plan be applied: it may make them a second time. At most 100.
                             */
                            orphaned?: {
                                /** @description Address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                                /** @description Reason why it could not be taken into the state. */
                                reason: string;
                            }[];
                            /** @description Policy is what the policies say of it; absent when there were none to ask. */
                            policy?: {
                                /**
                                 * Format: int32
                                 * @description ApprovalRequired is how many require an approval before the plan is applied, also where spec.apply is Automatic.
                                 */
                                approvalRequired?: number;
                                /**
                                 * Format: int32
                                 * @description Checked is how many modules and validations looked at it.
                                 */
                                checked: number;
                                /**
                                 * Format: int32
                                 * @description Denied is how many findings refuse it.
                                 */
                                denied: number;
                                /** @description Findings, those that refuse it first, then those that require an approval; at most 50, the counts count all. */
                                findings?: {
                                    /**
                                     * @description Action: Deny, RequireApproval or Warn.
                                     * @enum {string}
                                     */
                                    action: "Deny" | "RequireApproval" | "Warn";
                                    /** @description Message for a person. */
                                    message: string;
                                    /**
                                     * @description Policy that says it: the ConfigMap and its key. Example: rules/tags.rego; one that the install requires begins with
                                     *     its namespace: cairn-system/rules/tags.rego.
                                     */
                                    policy: string;
                                }[];
                                /**
                                 * Format: int32
                                 * @description Warned is how many only warn.
                                 */
                                warned: number;
                            };
                            /**
                             * Format: int32
                             * @description Replace is how many of Add and of Destroy are a replacement: one resource that is destroyed and created.
                             */
                            replace: number;
                            /** @description Resources are the changes, destroys and replaces first; at most 100, the counts count all. */
                            resources?: {
                                /** @description Action: create, update, delete, replace, import, forget, move. */
                                action: string;
                                /** @description Address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                            }[];
                            /** @description Script says that a script of the Stack's spec.commands applies it, in place of the engine. */
                            script?: boolean;
                            /** @description Wrapped is the engine that Terragrunt ran, with the exact version; only that one applies the plan. */
                            wrapped?: {
                                /**
                                 * @description Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
                                 *     Example: Terraform.
                                 * @enum {string}
                                 */
                                name?: "OpenTofu" | "Terraform" | "Terragrunt";
                                /**
                                 * @description Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
                                 *     otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
                                 *     .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
                                 *     required_version; and when the code says nothing, any version. Example: "~> 1.9".
                                 */
                                version?: string;
                            };
                        };
                        /** @description Revision names the source of these inputs; absent of older Runs. */
                        revision?: string;
                        /** @description Steps are those that tell more than that all went well: how outputs were written. Absent of older Runs. */
                        steps?: {
                            /**
                             * Format: int32
                             * @description ExitCode of the program it ran, if it ran one.
                             */
                            exitCode?: number;
                            /**
                             * Format: date-time
                             * @description FinishedAt is when it ended.
                             */
                            finishedAt?: string;
                            /** @description Message is one line on what happened. */
                            message?: string;
                            /** @description Name of the step. A hook is named for when it runs: before-init, after-plan, and after-plan-2 for the second one. */
                            name: string;
                            /**
                             * Format: date-time
                             * @description StartedAt is when it began.
                             */
                            startedAt?: string;
                            /**
                             * @description State of the step.
                             * @enum {string}
                             */
                            state: "Waiting" | "Running" | "Succeeded" | "Failed" | "Skipped";
                        }[];
                    };
                    /**
                     * Format: date-time
                     * @description FinishedAt is when it ended.
                     */
                    finishedAt?: string;
                    /** @description Name of the Run. */
                    name: string;
                    /**
                     * @description Operation is what it could do.
                     * @enum {string}
                     */
                    operation: "Apply" | "Plan" | "Destroy" | "Shell";
                    /** @description UID of the Run: no other one of its name is meant. */
                    uid: string;
                }[];
                /** @description Image is the newest that was built for the Stack: a Run for which the same would be built takes it. */
                image?: {
                    /** @description Digest of the image, as its registry knows it; empty while it is built. */
                    digest?: string;
                    /** @description Key is the digest over all that the image is built from. */
                    key: string;
                    /** @description Run that built it. */
                    run?: string;
                };
                /**
                 * @description InputsDigest is the digest of everything that decides the result of a Run: the code, the values and the engine, as the spec and its
                 *     sources declare them now. The Stack is up to date when appliedInputsDigest is the same. Example: sha256:1f3c....
                 */
                inputsDigest?: string;
                /** @description LastHandledRequest is the last request for a Run (annotation cairn.dev/requested-at) that was accepted or rejected. */
                lastHandledRequest?: {
                    /**
                     * @description Rejected says that the request was rejected, as when its time is in the future. It is not tried again; request again
                     *     with another value. A Repository rejects no request.
                     */
                    rejected?: boolean;
                    /**
                     * Format: date-time
                     * @description Time at which it was handled. Example: 2026-11-20T12:00:01Z
                     */
                    time: string;
                    /** @description Value of the annotation. Example: 2026-11-20T12:00:00Z */
                    value: string;
                };
                /** @description LastRun is the newest Run, under way or finished. */
                lastRun?: string;
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the rest of the status speaks of.
                 */
                observedGeneration?: number;
                /**
                 * @description Outputs are the outputs of the last apply that are not sensitive. Long ones, and any past 64, are left out here;
                 *     spec.outputs gets them all.
                 */
                outputs?: {
                    [key: string]: unknown;
                };
                /**
                 * @description PlannedState is the version of the State that a user wrote (cairn state push, for example) and that was planned. Absent when a Run
                 *     wrote the version that was planned last.
                 */
                plannedState?: {
                    /** @description Run that plans it. Example: net-7. */
                    run: string;
                    /**
                     * Format: int64
                     * @description Version of the State. Example: 5.
                     */
                    version: number;
                };
                /**
                 * @description ReservedRun is the last Run whose name was reserved, and what it is for. It is written before the Run is created and stays after the
                 *     Run is gone, so that it is known whether the Run still has to be created, and what it means when it does not exist.
                 */
                reservedRun?: {
                    /**
                     * @description Cause is what kind of thing it is made for: Manual for one that somebody asked for.
                     * @enum {string}
                     */
                    cause: "Spec" | "Variables" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual";
                    /** @description Name of the Run. */
                    name: string;
                    /**
                     * @description Operation is what it may do.
                     * @enum {string}
                     */
                    operation: "Apply" | "Plan" | "Destroy" | "Shell";
                    /**
                     * Format: int64
                     * @description StateVersion is the version of the State that a user wrote, for a Run that plans it for no other reason. Example: 5.
                     */
                    stateVersion?: number;
                };
                /**
                 * Format: int32
                 * @description Resources is how many resources the state holds.
                 */
                resources?: number;
                /**
                 * @description Revision names the source of these inputs: for git the ref and the commit, as in main@sha1:1f3c..., for a ConfigMap and
                 *     inline code the digest of its files. It stays with later commits that change nothing of this Stack; the newest commit that
                 *     Cairn has seen is in the Repository's status.
                 */
                revision?: string;
                /**
                 * @description Units are the Terragrunt units that the code of this Stack depends on, as it was last read. The Stacks that run them
                 *     are dependencies of this one, as if they were in spec.dependsOn.
                 */
                units?: {
                    /**
                     * @description Outputs is true when the Stack reads the unit's outputs: when they change, the Stack runs again. It is false for a
                     *     dependencies block, and for a dependency block with skip_outputs = true.
                     */
                    outputs?: boolean;
                    /** @description Path of the unit's folder from the repository's root; "." is the root. Example: live/prod/vpc. */
                    path: string;
                    /**
                     * @description Stacks that run the unit: those of the same namespace, Repository and ref whose folder it is. Without one the unit
                     *     gives no order. At most 100, the first by name. Example: [vpc].
                     */
                    stacks?: string[];
                }[];
            };
        };
        /**
         * @description State is what Cairn knows of a Stack's state: its versions and its lock. It has the Stack's name. The bytes are in
         *     Secrets of type cairn.dev/state, or in the bucket; this object says which of them count. Only Cairn writes it.
         *
         *     It has no status subresource, so that a lock on a new State is one write.
         */
        State: {
            /**
             * @description APIVersion defines the versioned schema of this representation of an object.
             *     Servers should convert recognized schemas to the latest internal value, and
             *     may reject unrecognized values.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
             */
            apiVersion?: string;
            /**
             * @description Kind is a string value representing the REST resource this object represents.
             *     Servers may infer this from the endpoint the client submits requests to.
             *     Cannot be updated.
             *     In CamelCase.
             *     More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
             */
            kind?: string;
            metadata: components["schemas"]["Metadata"];
            /** @description Status says which bytes count and who may write. */
            status?: {
                /** @description Backend is the engine's own that keeps the state, as spec.backend of the Stack names it; absent where Cairn keeps it. */
                backend?: {
                    /**
                     * Format: int64
                     * @description Serial of what it has.
                     */
                    serial?: number;
                    /** @description Type of it. Example: s3. */
                    type: string;
                    /**
                     * Format: int64
                     * @description Version that it has; 0 when it had none. When the current one is newer, as after a rescue or a rollback, the next plan puts that
                     *     there.
                     */
                    version?: number;
                };
                /**
                 * @description InputsDigest is the digest of the inputs of the last apply that began, or of later inputs that needed no change. A destroy uses
                 *     these inputs. Example: sha256:1f3c....
                 */
                inputsDigest?: string;
                /** @description Lineage as the engine made it; another one is refused. */
                lineage?: string;
                /** @description Lock is held while an apply is under way, or while a user's engine works with the state on a machine of the user. */
                lock?: {
                    /**
                     * Format: int32
                     * @description Attempt of the Run.
                     */
                    attempt?: number;
                    /**
                     * @description By is the user whose engine holds it, by the name that the API server has for the user; empty for a lock of a Run. Writes of any
                     *     other user are denied, and the lock does not expire. Example: alice@example.com.
                     */
                    by?: string;
                    /** @description ID that the engine made; every write has to carry it. */
                    id: string;
                    /** @description PodUID of the attempt's pod. Writes of any other pod are refused. */
                    podUID?: string;
                    /** @description Run that holds it; empty for a lock of a user. */
                    run?: string;
                    /**
                     * Format: date-time
                     * @description Since is when it was taken.
                     */
                    since: string;
                    /** @description Who as the engine tells it. Example: runner@net-7-plan-1. */
                    who?: string;
                };
                /** @description Move lets the next plan put the current version into the Stack's backend, where that has none or an older one. */
                move?: {
                    /**
                     * Format: date-time
                     * @description At is when they said so.
                     */
                    at: string;
                    /** @description By is the person. Example: alice@example.com. */
                    by: string;
                    /**
                     * Format: int64
                     * @description Version that it is about; the word is void once there is a newer one.
                     */
                    version: number;
                };
                /**
                 * @description Outputs has a fingerprint of each output's value in the current version, by name: what other Stacks that use it know a
                 *     change by. It is keyed with a secret of the install, so that a value cannot be guessed from it. 1,000 at most.
                 */
                outputs?: {
                    [key: string]: string;
                };
                /**
                 * Format: int64
                 * @description OutputsVersion is the version whose outputs were looked at, so that no Outputs means that it has none. Below Version
                 *     they mean that nobody looked yet, since a Cairn that knew of no fingerprints wrote it.
                 */
                outputsVersion?: number;
                /**
                 * @description Rescued is a state that could not be written when it was made. It becomes a version before the next plan, unless another
                 *     version was written since: then nothing is planned until a user has merged the two and pushed the result by force.
                 */
                rescued?: {
                    /**
                     * Format: date-time
                     * @description At is when it was kept.
                     */
                    at: string;
                    /**
                     * Format: int32
                     * @description Attempt of the Run.
                     */
                    attempt: number;
                    /**
                     * @description Base is the SHA256 of the version that the attempt started from, or wrote last; empty when there was none. The rescued state
                     *     becomes a version only while that is the current one.
                     */
                    base?: string;
                    /** @description Lineage as the engine made it. */
                    lineage: string;
                    /** @description Run whose attempt it is from. */
                    run: string;
                    /**
                     * Format: int64
                     * @description Serial as the engine counts it.
                     */
                    serial: number;
                    /** @description SHA256 in clear. */
                    sha256: string;
                };
                /**
                 * Format: int32
                 * @description Resources is how many resource instances the current version holds, data sources not counted.
                 */
                resources?: number;
                /**
                 * Format: int64
                 * @description Serial as the engine counts it.
                 */
                serial?: number;
                /** @description SHA256 of the current version, in clear and uncompressed. Example: sha256:ab12... */
                sha256?: string;
                /**
                 * Format: int64
                 * @description Size of the current version in bytes, uncompressed.
                 */
                size?: number;
                /** @description UpdatedBy is the Run that wrote the current version; empty when a person did, whom the version names. */
                updatedBy?: string;
                /**
                 * Format: int64
                 * @description Version counts the accepted writes; 0 before the first.
                 */
                version?: number;
                /** @description Versions that are kept, oldest first; the last one is the current one. */
                versions?: {
                    /**
                     * Format: date-time
                     * @description At is when it was written.
                     */
                    at: string;
                    /**
                     * Format: int32
                     * @description Attempt of the Run.
                     */
                    attempt?: number;
                    /** @description By is the person who wrote it, if no Run did. Example: alice@example.com. */
                    by?: string;
                    /**
                     * Format: int32
                     * @description Chunks is how many Secrets hold them, named <state>-state-v<version>-<digest>-<chunk>.
                     */
                    chunks?: number;
                    /** @description Run that wrote it. */
                    run?: string;
                    /**
                     * Format: int64
                     * @description Serial as the engine counts it.
                     */
                    serial: number;
                    /** @description SHA256 in clear and uncompressed. */
                    sha256: string;
                    /**
                     * Format: int64
                     * @description Size in bytes, uncompressed.
                     */
                    size: number;
                    /**
                     * @description Storage is where the bytes are: Secret or Bucket. Example: Secret.
                     * @enum {string}
                     */
                    storage: "Secret" | "Bucket";
                    /**
                     * Format: int64
                     * @description Version counts from 1.
                     */
                    version: number;
                }[];
            };
        };
        Metadata: {
            name: string;
            namespace: string;
            uid: string;
            creationTimestamp: string;
            deletionTimestamp?: string;
            generation?: number;
            resourceVersion?: string;
            labels?: {
                [key: string]: string;
            };
            annotations?: {
                [key: string]: string;
            };
            finalizers?: string[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
