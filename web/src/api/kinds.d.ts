/* Written by `npm run schema` from the CRDs of the chart. */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description DriftPause pauses the corrections of drift (spec.drift.onDrift: Apply of Stacks) in its namespace. Cairn creates it,
         *     with the name mass-drift, when an unusual number of Stacks begins to drift within an hour, such as during an outage
         *     of a provider. Corrections continue once a user resumes them.
         */
        DriftPause: {
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
            /**
             * @description Spec has the decision of a user.
             * @default {}
             */
            spec: {
                /**
                 * @description Resume ends the pause that began at a time. A later pause needs another decision. It requires the verb resume on
                 *     the DriftPause; `cairn drift resume` sets it.
                 */
                resume?: {
                    /** @description By is the user who decided. The API server rejects any other name. */
                    by: string;
                    /**
                     * Format: date-time
                     * @description Since is status.since of the pause that it ends.
                     */
                    since: string;
                };
            };
            /** @description Status reports whether corrections are paused. Without a status they are. */
            status?: {
                /**
                 * Format: int32
                 * @description Checked is the number of Stacks that were checked for drift within that hour, or later.
                 */
                checked?: number;
                /** @description Conditions are the latest observations. Ready is False while corrections are paused. */
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
                 * Format: int32
                 * @description Drifted is the number of Stacks that began to drift within an hour, when the pause began.
                 */
                drifted?: number;
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the status describes.
                 */
                observedGeneration?: number;
                /** @description Resumed is when corrections were resumed the last time. What began to drift until then is not counted any more. */
                resumed?: {
                    /** @description By is the user who decided. */
                    by: string;
                    /**
                     * Format: date-time
                     * @description Time is the end of the pause.
                     */
                    time: string;
                };
                /**
                 * Format: date-time
                 * @description Since is when the pause began. Unset while corrections are not paused.
                 */
                since?: string;
                /** @description Stacks are the names of the first of the Stacks that began to drift. At most 10. */
                stacks?: string[];
            };
        };
        /**
         * @description Notification sends messages about Stacks to a chat or to a webhook: which plans wait for an approval, what failed,
         *     which resources drifted.
         */
        Notification: {
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
            /** @description Spec declares which messages are sent, and where. */
            spec: {
                /** @description Destination is where the messages are sent. */
                destination: {
                    /**
                     * @description Secret is a Secret in the same namespace with the address in url. For a Webhook it also has key, with which
                     *     requests are signed: at least 24 bytes, or whsec_ and base64. While it is changed, previousKey is the one before;
                     *     requests are signed with both. ca.crt has certificates that sign that of the server, in PEM.
                     */
                    secret: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                    /**
                     * @description Type is the format of the messages. Slack: for an incoming webhook of Slack, or of a chat that accepts the same
                     *     format. Teams: for the trigger "When a Teams webhook request is received" of a workflow. Webhook: CloudEvents in
                     *     JSON, signed as the specification "Standard Webhooks" requires.
                     * @enum {string}
                     */
                    type: "Slack" | "Teams" | "Webhook";
                };
                /**
                 * @description DriftInterval is the shortest time between two messages about drift; each of them is about all drift that was
                 *     found or has gone since the one before. At least 1m and at most 168h. Default: 1h.
                 * @default 1h
                 */
                driftInterval: string;
                /**
                 * @description Events are what messages are sent about. Default: ApprovalNeeded, Failed, Recovered, DriftFound, DriftGone,
                 *     MassDrift and Contended.
                 * @default [
                 *       "ApprovalNeeded",
                 *       "Failed",
                 *       "Recovered",
                 *       "DriftFound",
                 *       "DriftGone",
                 *       "MassDrift",
                 *       "Contended"
                 *     ]
                 */
                events: ("ApprovalNeeded" | "Failed" | "Recovered" | "DriftFound" | "DriftGone" | "MassDrift" | "Contended" | "Applied" | "Destroyed")[];
                /**
                 * @description GroupWait is the time from the first event until a message about it is sent. Events of the same kind until then
                 *     are in the same message. At most 1h. Default: 30s.
                 * @default 30s
                 */
                groupWait: string;
                /**
                 * @description Namespaces are the namespaces whose Stacks the messages are about: names, or patterns in which * stands for any
                 *     characters. Only a Notification in the namespace in which Cairn is installed can set it. At most 100. Default:
                 *     the namespace of the Notification. Example: ["team-a-*"].
                 */
                namespaces?: string[];
                /**
                 * @description StackSelector selects Stacks by their labels. {} selects all of them. Example: {matchLabels: {team: payments}}.
                 * @default {}
                 */
                stackSelector: {
                    /** @description matchExpressions is a list of label selector requirements. The requirements are ANDed. */
                    matchExpressions?: {
                        /** @description key is the label key that the selector applies to. */
                        key: string;
                        /**
                         * @description operator represents a key's relationship to a set of values.
                         *     Valid operators are In, NotIn, Exists and DoesNotExist.
                         */
                        operator: string;
                        /**
                         * @description values is an array of string values. If the operator is In or NotIn,
                         *     the values array must be non-empty. If the operator is Exists or DoesNotExist,
                         *     the values array must be empty. This array is replaced during a strategic
                         *     merge patch.
                         */
                        values?: string[];
                    }[];
                    /**
                     * @description matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels
                     *     map is equivalent to an element of matchExpressions, whose key field is "key", the
                     *     operator is "In", and the values array contains only "value". The requirements are ANDed.
                     */
                    matchLabels?: {
                        [key: string]: string;
                    };
                };
                /** @description Suspend stops sending. What happens meanwhile is sent once it is false again, if it is still so. Default: false. */
                suspend?: boolean;
            };
            /**
             * @description Status reports what was sent. observedGeneration is -1 until an operator reconciles the Notification.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /**
                 * @description Conditions are the latest observations. Ready is False while the destination accepts no messages, or the
                 *     Notification has to be corrected.
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
                /** @description Deliveries are the last messages, newest first. At most 10. */
                deliveries?: {
                    /** @description Event is what the message is about. */
                    event: string;
                    /** @description Failure is why Cairn dropped it. Unset if the message was accepted. */
                    failure?: string;
                    /** @description ID identifies the message. Example: 6f1c.... */
                    id: string;
                    /**
                     * Format: int32
                     * @description Stacks is the number of Stacks that it is about.
                     */
                    stacks: number;
                    /**
                     * Format: date-time
                     * @description Time is when the destination accepted it, or Cairn dropped it.
                     */
                    time: string;
                }[];
                /**
                 * Format: date-time
                 * @description DriftReportedAt is the time of the last message about drift.
                 */
                driftReportedAt?: string;
                /**
                 * @description LastHandledRequest is the last request for a test (annotation cairn.dev/requested-at) whose message is sent, or
                 *     is in pending. A message that was in pending already is sent again at once, in place of a test.
                 */
                lastHandledRequest?: {
                    /**
                     * @description Rejected is true if the request was rejected, for example because its time is in the future. Cairn does not retry
                     *     it; request again with another value. A Repository rejects no request.
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
                 * @description ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
                 *     Notification.
                 */
                observedGeneration?: number;
                /** @description Pending is the message that is being sent. The events of it are in reported. Unset if there is none. */
                pending?: {
                    /** @description Event is what the message is about. */
                    event: string;
                    /** @description ID identifies the message. It is the same each time that the message is sent. Example: 6f1c.... */
                    id: string;
                    /**
                     * Format: date-time
                     * @description Since is the time from which on it is sent. Cairn drops it after 24 hours.
                     */
                    since: string;
                };
                /**
                 * @description Reported are the events that the destination has messages about, or that pending is about, as long as they are
                 *     true; of applies and destroys those after reportedUntil. At most 2000; further ones are not sent before there are
                 *     fewer.
                 */
                reported?: {
                    /**
                     * Format: date-time
                     * @description At is the time of the event; only of applies and destroys.
                     */
                    at?: string;
                    /** @description Event is what happened. */
                    event: string;
                    /** @description Key distinguishes the event from others of the same kind of the Stack: a Run, or what failed with which inputs. */
                    key: string;
                    /** @description Message describes the event. */
                    message?: string;
                    /** @description Pending reports that the event belongs to the message in pending. */
                    pending?: boolean;
                    /**
                     * @description Reason, Run and Message are those of the Stack when the event was observed. They are unset once the message is
                     *     sent, and the message is unset in all but the first 20 events of one.
                     */
                    reason?: string;
                    /** @description Run is the name of the Run. Example: net-7. */
                    run?: string;
                    /**
                     * @description Stack is the name of the Stack, as namespace/name if it is in another namespace. Without a name the event is one
                     *     of the namespace. Example: net.
                     */
                    stack: string;
                    /**
                     * @description UID is the UID of the Stack, or of the DriftPause of the namespace. It distinguishes the Stack from another one
                     *     with the same name.
                     */
                    uid?: string;
                }[];
                /**
                 * Format: date-time
                 * @description ReportedUntil is the time until which messages about all applies and destroys were sent.
                 */
                reportedUntil?: string;
            };
        };
        /**
         * @description Pipeline promotes commits through stages, such as dev, staging and production. A Stack that a stage selects has the
         *     code of the commit that its stage has, and not that of the branch.
         */
        Pipeline: {
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
            /** @description Spec declares the stages. */
            spec: {
                /** @description Ref is the branch whose commits become releases. Default: spec.ref of the Repository. Example: main. */
                ref?: string;
                /**
                 * @description Releases is which releases a stage gets. Latest: the newest one that the stage before has completed; releases
                 *     that did not begin in the stage are skipped. Every: each release, one after another. Default: Latest.
                 * @default Latest
                 * @enum {string}
                 */
                releases: "Latest" | "Every";
                /**
                 * @description Repository is the Repository whose commits are promoted. The Stacks of all stages must have their code from it.
                 *     Its spec.allowedNamespaces must include the namespace of the Pipeline. It cannot change.
                 */
                repository: {
                    /** @description Name is the name of the Repository. */
                    name: string;
                    /**
                     * @description Namespace is the namespace of the Repository. Its spec.allowedNamespaces must include the namespace of
                     *     the Stack. Default: the namespace of the Stack.
                     */
                    namespace?: string;
                };
                /** @description Stages are the stages in the order in which a release passes them. At most 20. */
                stages: {
                    /**
                     * @description CarryApproval lets an approval in the stage before count in this stage. SameShape: if the plan has the addresses,
                     *     actions and changed attribute paths of the plan that a user approved there for the same release, whatever the
                     *     values are, and deletes or replaces nothing. Stacks correspond whose labels are the same, without those that the
                     *     selectors of the two stages name. Default: each plan is approved in this stage.
                     * @enum {string}
                     */
                    carryApproval?: "SameShape";
                    /** @description Name is the name of the stage. Example: production. */
                    name: string;
                    /**
                     * @description Promote is how the stage gets a release. Automatic: as soon as the stage before has completed it. Manual: after a
                     *     user with the verb promote on the Pipeline requests it, for example with cairn promote. Default: Manual.
                     * @enum {string}
                     */
                    promote?: "Automatic" | "Manual";
                    /**
                     * @description Soak is the time that a release stays in the stage after it is applied and verified, before the stage is
                     *     complete. It begins again after a failure. At most 720h. Default: 0s. Example: 30m.
                     */
                    soak?: string;
                    /**
                     * @description Stacks selects the Stacks of the stage in the namespace of the Pipeline by their labels. A Stack that several
                     *     stages select starts no Run. Example: {matchLabels: {env: production}}.
                     */
                    stacks: {
                        /** @description matchExpressions is a list of label selector requirements. The requirements are ANDed. */
                        matchExpressions?: {
                            /** @description key is the label key that the selector applies to. */
                            key: string;
                            /**
                             * @description operator represents a key's relationship to a set of values.
                             *     Valid operators are In, NotIn, Exists and DoesNotExist.
                             */
                            operator: string;
                            /**
                             * @description values is an array of string values. If the operator is In or NotIn,
                             *     the values array must be non-empty. If the operator is Exists or DoesNotExist,
                             *     the values array must be empty. This array is replaced during a strategic
                             *     merge patch.
                             */
                            values?: string[];
                        }[];
                        /**
                         * @description matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels
                         *     map is equivalent to an element of matchExpressions, whose key field is "key", the
                         *     operator is "In", and the values array contains only "value". The requirements are ANDed.
                         */
                        matchLabels?: {
                            [key: string]: string;
                        };
                    };
                    /**
                     * @description Verify is what is verified after the Stacks of the stage have applied a release, before the soak. A release that
                     *     does not pass stops in the stage. Default: nothing.
                     */
                    verify?: {
                        /**
                         * @description Drift requires that each affected Stack has no drift after its apply. Cairn checks that at once after the apply,
                         *     and again every 10 minutes while a check fails. Drift that spec.drift.ignore of the Stack ignores does not count.
                         *     Drift checks of the Stacks must be enabled. Default: not verified. Example: {timeout: 30m}.
                         */
                        drift?: {
                            /**
                             * @description Timeout is the time after which a verification without a result is reported (VerificationOverdue). The release
                             *     does not fail thereby, and the verification continues. At least 1m and at most 24h. Default: 1h.
                             */
                            timeout?: string;
                        };
                    };
                }[];
            };
            /**
             * @description Status reports which commit each stage has. observedGeneration is -1 until an operator reconciles the Pipeline.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /** @description Conditions are the latest observations. Ready is True if all stages have completed the newest release. */
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
                 * @description LastHandledRequest is the last request for a promotion (annotation cairn.dev/requested-at) that was accepted or
                 *     rejected.
                 */
                lastHandledRequest?: {
                    /**
                     * @description Rejected is true if the request was rejected, for example because its time is in the future. Cairn does not retry
                     *     it; request again with another value. A Repository rejects no request.
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
                 * @description ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
                 *     Pipeline.
                 */
                observedGeneration?: number;
                /**
                 * @description Releases are the commits that changed the code of a Stack of the Pipeline, newest first: the last 20, and older
                 *     ones that a stage has. Commits that were fetched together are one release.
                 */
                releases?: {
                    /** @description Author wrote the commit, by name. At most 300 characters. */
                    author?: string;
                    /** @description Commit is the ID of the commit. Example: 1f3c.... */
                    commit: string;
                    /**
                     * Format: date-time
                     * @description CreatedAt is the time when Cairn found the commit.
                     */
                    createdAt: string;
                    /**
                     * Format: int32
                     * @description Stacks is the number of Stacks of the Pipeline whose code differs from the release before.
                     */
                    stacks: number;
                    /** @description Stages are the stages that had the release, or have it. */
                    stages?: {
                        /**
                         * Format: date-time
                         * @description CompletedAt is the time when the stage completed the release. Unset if it did not since promotedAt.
                         */
                        completedAt?: string;
                        /** @description Name is the name of the stage. */
                        name: string;
                        /**
                         * Format: date-time
                         * @description PromotedAt is the last time when the stage got the release.
                         */
                        promotedAt: string;
                        /**
                         * @description PromotedBy is the user who promoted it, as the name of a user for RBAC. Unset if the stage promotes
                         *     automatically.
                         */
                        promotedBy?: string;
                    }[];
                    /** @description Subject is the first line of the message of the commit. At most 300 characters. */
                    subject?: string;
                }[];
                /** @description Stages report the stages, in the order of spec.stages. Stacks have the code of the release of their stage. */
                stages?: {
                    /**
                     * Format: int32
                     * @description Affected is the number of Stacks whose code differs between base and the release, and of those that are not known
                     *     to have applied base.
                     */
                    affected: number;
                    /**
                     * Format: int32
                     * @description Applied is the number of affected Stacks that have applied the release.
                     */
                    applied: number;
                    /**
                     * Format: date-time
                     * @description AppliedAt is the time when all affected Stacks had applied the release. The soak counts from it if the stage
                     *     verifies nothing.
                     */
                    appliedAt?: string;
                    /**
                     * @description Base is the release that the stage completed last, with which its release is compared. Unset if there is none, or
                     *     if the release replaced one that the stage did not complete: all Stacks are affected then.
                     */
                    base?: string;
                    /**
                     * @description Hold is set after a user promoted an earlier release. The stage gets no release automatically until a user
                     *     promotes a newer one, or the same one again.
                     */
                    hold?: {
                        /**
                         * Format: date-time
                         * @description At is the time of the promotion.
                         */
                        at: string;
                        /** @description By is the user who promoted an earlier release, as the name of a user for RBAC. */
                        by: string;
                    };
                    /** @description Message describes the state. */
                    message?: string;
                    /** @description Name is the name of the stage. */
                    name: string;
                    /** @description Next is the release that the stage can get. Unset if there is none. */
                    next?: string;
                    /**
                     * Format: int64
                     * @description Promotion counts the promotions of the stage. A Stack reports it with the release that it has.
                     */
                    promotion?: number;
                    /** @description Release is the commit that the Stacks of the stage have. Unset before the first one. */
                    release?: string;
                    /**
                     * Format: date-time
                     * @description Since is the time of the last change of state or release.
                     */
                    since: string;
                    /**
                     * Format: int32
                     * @description Stacks is the number of Stacks in the stage.
                     */
                    stacks: number;
                    /**
                     * @description State is what the stage does with its release.
                     * @enum {string}
                     */
                    state: "Waiting" | "Progressing" | "Failed" | "Verifying" | "Soaking" | "Complete";
                    /**
                     * Format: date-time
                     * @description VerifiedAt is the time when the release passed the verification. The soak counts from it. Unset if the stage
                     *     verifies nothing.
                     */
                    verifiedAt?: string;
                }[];
            };
        };
        /**
         * @description PullRequest is a pull request (merge request) of a Repository, with the plans of the Stacks that it affects. Cairn
         *     creates it while the pull request is open, and deletes it 14 days after the merge; users read it.
         */
        PullRequest: {
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
            /** @description Spec is the pull request as the Git provider has it. */
            spec: {
                /**
                 * @description Author is the user who opened it, as the name of a user for RBAC: <provider>:<host>:<login>. Empty if the login
                 *     cannot be one. Example: gitea:git.example.com:alice.
                 */
                author?: string;
                /** @description Base is the branch to merge into. Example: main. */
                base: string;
                /** @description Draft reports whether the pull request is a draft. */
                draft?: boolean;
                /** @description Fork reports whether the head is in another repository. */
                fork?: boolean;
                /** @description Head is the branch to merge, and its newest commit. */
                head: {
                    /** @description Branch of the head, in the repository of the head. Example: wider-subnet. */
                    branch?: string;
                    /** @description Commit is the ID of the newest commit. */
                    commit: string;
                };
                /**
                 * @description MergeCommit is the ID of the commit of the base that has the pull request. Unset if it is not merged, or if the
                 *     Git provider does not report it.
                 */
                mergeCommit?: string;
                /**
                 * Format: int64
                 * @description Number of the pull request at the Git provider. Example: 12.
                 */
                number: number;
                /** @description Repository is the Repository of the pull request, in the same namespace. */
                repository: {
                    /** @description Name is the name of the object. */
                    name: string;
                };
                /**
                 * @description State is Open, Merged or Closed.
                 * @enum {string}
                 */
                state: "Open" | "Merged" | "Closed";
                /** @description Title of the pull request, at most 255 characters. Its author chooses it. */
                title?: string;
                /**
                 * Format: date-time
                 * @description UpdatedAt is the time of the last update at the Git provider, for example of a new comment.
                 */
                updatedAt?: string;
                /** @description URL of the page of the pull request. Example: https://git.example.com/acme/infra/pulls/12. */
                url?: string;
            };
            /**
             * @description Status reports the affected Stacks and their plans. observedGeneration is -1 until an operator reconciles the
             *     PullRequest.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /**
                 * @description Apply is what the affected Stacks did with the merge. Unset while the pull request is not merged, and if it
                 *     affected no Stack.
                 */
                apply?: {
                    /**
                     * Format: date-time
                     * @description FetchedAt is when Cairn first found the merge commit in the fetched base. Unset before that.
                     */
                    fetchedAt?: string;
                    /**
                     * Format: int32
                     * @description MoreStacks is the number of affected Stacks beyond these, of which the apply is not reported.
                     */
                    moreStacks?: number;
                    /** @description Stacks are those that the pull request affected when it was merged, by namespace and name. At most 500. */
                    stacks?: {
                        /**
                         * @description Approval is whose approval of the pull request counts for the plan, or why it does not. Unset if there was none.
                         *     Example: "the approval by gitea:git.example.com:bob does not count: the plan does something else".
                         */
                        approval?: string;
                        /** @description Message explains the reason, at most 300 bytes. */
                        message?: string;
                        /** @description Name of the Stack. */
                        name: string;
                        /** @description Namespace of the Stack. */
                        namespace: string;
                        /**
                         * Format: date-time
                         * @description OpensAt is when the window opens that the Run waits for. Unset if it waits for none.
                         */
                        opensAt?: string;
                        /**
                         * @description Phase is what the Stack did with the merge.
                         * @enum {string}
                         */
                        phase: "Pending" | "Applying" | "AwaitingApproval" | "Waiting" | "Applied" | "Failed" | "Stopped" | "Superseded" | "Deleted";
                        /** @description Plan is the summary of the plan, without resources and findings of policies. Unset if it is not known. */
                        plan?: {
                            /**
                             * Format: int32
                             * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                             */
                            add: number;
                            /**
                             * Format: int32
                             * @description Change is the number of resources to update in place.
                             */
                            change: number;
                            /**
                             * @description Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
                             *     data sources has no changes.
                             */
                            changes: boolean;
                            /**
                             * Format: int32
                             * @description Destroy is the number of resources to destroy. It includes replacements.
                             */
                            destroy: number;
                            /**
                             * @description Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
                             *     other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
                             *     than 8 KiB of them.
                             */
                            differences?: {
                                /**
                                 * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                                 *     invoke, or refresh if only the state gets what changed outside of Cairn.
                                 */
                                action: string;
                                /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                                /**
                                 * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                                 *     [desired_capacity, "tags[\"owner\"]"].
                                 */
                                attributes?: string[];
                            }[];
                            /** @description Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest. */
                            digest: string;
                            /**
                             * @description EngineVersion is the exact version of the engine that created the plan. Only the same version applies
                             *     it. Example: 1.12.6.
                             */
                            engineVersion?: string;
                            /**
                             * @description Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
                             *     outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
                             *     their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
                             *     could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
                             *     5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
                             */
                            fingerprint?: string;
                            /**
                             * Format: int32
                             * @description Forget is the number of resources to remove from the state without destroying them.
                             */
                            forget: number;
                            /**
                             * @description Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
                             *     plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
                             *     it, or if the node reports no digest of the image. Example:
                             *     ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
                             */
                            image?: string;
                            /**
                             * Format: int32
                             * @description Import is the number of resources to import into the state.
                             */
                            import: number;
                            /**
                             * Format: int32
                             * @description Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
                             *     function. An action is no resource: no other number includes it.
                             */
                            invoke?: number;
                            /**
                             * Format: int32
                             * @description MoreOutputs is the number of outputs that change and are not in outputs.
                             */
                            moreOutputs?: number;
                            /**
                             * @description Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
                             *     most 100. Empty if Cairn cannot read the plan file.
                             */
                            outputs?: {
                                /** @description Action is the planned action: create, update or delete. */
                                action: string;
                                /** @description Known is true if all of the new value is known before the apply. False for an output that is deleted. */
                                known?: boolean;
                                /** @description Name of the output. Example: vpc. */
                                name: string;
                                /** @description Sensitive is true if the code marks the output as sensitive. */
                                sensitive?: boolean;
                            }[];
                            /**
                             * @description Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
                             *     the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
                             */
                            partial?: string;
                            /** @description Policy is the result of the policies for the plan. Unset if there are no policies. */
                            policy?: {
                                /**
                                 * Format: int32
                                 * @description ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
                                 *     spec.apply is Automatic.
                                 */
                                approvalRequired?: number;
                                /**
                                 * Format: int32
                                 * @description Checked is the number of modules and validations that were evaluated.
                                 */
                                checked: number;
                                /**
                                 * Format: int32
                                 * @description Denied is the number of findings that deny the plan.
                                 */
                                denied: number;
                                /**
                                 * @description Findings are the findings of the policies: first those that deny the plan, then those that require an
                                 *     approval, then warnings. At most 50; the counts include all findings.
                                 */
                                findings?: {
                                    /**
                                     * @description Action is the effect of the finding: Deny, RequireApproval or Warn.
                                     * @enum {string}
                                     */
                                    action: "Deny" | "RequireApproval" | "Warn";
                                    /** @description Message is the text of the finding. Example: "bucket logs has no tag owner". */
                                    message: string;
                                    /**
                                     * @description Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
                                     *     namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
                                     */
                                    policy: string;
                                }[];
                                /**
                                 * Format: int32
                                 * @description Warned is the number of findings that are warnings.
                                 */
                                warned: number;
                            };
                            /**
                             * Format: int32
                             * @description Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
                             *     values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
                             *     count in forget.
                             */
                            refresh?: number;
                            /**
                             * Format: int32
                             * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                             */
                            replace: number;
                            /**
                             * @description Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
                             *     replace. At most 100; the counts include all.
                             */
                            resources?: {
                                /**
                                 * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                                 *     invoke, or refresh if only the state gets what changed outside of Cairn.
                                 */
                                action: string;
                                /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                            }[];
                            /** @description Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine. */
                            script?: boolean;
                            /**
                             * @description Shape is the same for two plans of this installation that change the same in the same way, with whatever
                             *     values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
                             *     something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
                             */
                            shape?: string;
                            /**
                             * @description StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
                             *     first time or no longer, or a destroy finds that none of its resources exist any more.
                             */
                            stateOnly?: boolean;
                            /**
                             * @description TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
                             *     same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
                             *     of the Stack is Automatic.
                             */
                            takesOverState?: boolean;
                            /**
                             * @description Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
                             *     While this list is not empty, the plan waits for an approval, because applying it may create the
                             *     resources again. At most 100.
                             */
                            untracked?: {
                                /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                                /** @description Reason is why Cairn could not import the resource into the state. */
                                reason: string;
                            }[];
                            /**
                             * @description Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
                             *     other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
                             *     can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
                             */
                            unverified?: string;
                            /**
                             * @description Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
                             *     plan. Unset for other engines.
                             */
                            wrapped?: {
                                /**
                                 * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                                 *     only Terraform. Example: Terraform.
                                 * @enum {string}
                                 */
                                name?: "OpenTofu" | "Terraform" | "Terragrunt";
                                /**
                                 * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                                 *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                                 *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                                 *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                                 *     any version is used. Example: "~> 1.9".
                                 */
                                version?: string;
                            };
                        };
                        /** @description Reason is the reason that the Run or the Stack reports. Example: AwaitingApproval. */
                        reason?: string;
                        /** @description Run is the Run that applies the merge, or code that has it. Unset if there is none. */
                        run?: string;
                    }[];
                };
                /**
                 * @description AutomaticMerge is the merge after the apply, if spec.pullRequests.automaticMerge of the Repository is set. Of a
                 *     pull request that is merged or closed, it is set only if Cairn requested the merge.
                 */
                automaticMerge?: {
                    /**
                     * Format: int32
                     * @description Attempts is the number of requests to merge this head.
                     */
                    attempts?: number;
                    /**
                     * Format: date-time
                     * @description CommandAt is when Cairn read the newest command that applied the pull request. A newer command permits new
                     *     attempts. Unset without a command.
                     */
                    commandAt?: string;
                    /** @description Head is the only commit of the head that is merged. */
                    head: string;
                    /** @description Message is why it waits or failed, and what to do, at most 500 bytes. Unset otherwise. */
                    message?: string;
                    /**
                     * @description Method is how it is merged.
                     * @enum {string}
                     */
                    method: "Merge" | "Squash" | "Rebase";
                    /**
                     * Format: date-time
                     * @description NextAttemptAt is when Cairn sends the request again after a failure. Unset if it does not.
                     */
                    nextAttemptAt?: string;
                    /**
                     * @description State of the merge.
                     * @enum {string}
                     */
                    state: "Waiting" | "Merging" | "Accepted" | "Failed";
                };
                /** @description Commands are the results of comments that are commands. */
                commands?: {
                    /** @description Allowances are what users allowed of the plans of that head commit, at most 50. */
                    allowances?: {
                        /** @description By is the user. Example: gitea:git.example.com:alice. */
                        by: string;
                        /** @description Stacks that the command names, as namespace/name. Empty if it names none, for all. */
                        stacks?: string[];
                    }[];
                    /** @description AllowedBy is the user who allowed it last. Example: gitea:git.example.com:alice. */
                    allowedBy?: string;
                    /** @description AllowedHead is the head commit whose plans a user allowed by a comment. Other heads need another comment. */
                    allowedHead?: string;
                    /** @description Answer is the result of the last command. */
                    answer?: string;
                    /**
                     * Format: int64
                     * @description LastComment is the ID of the last comment that was read.
                     */
                    lastComment?: number;
                    /**
                     * Format: date-time
                     * @description ReadAt is spec.updatedAt when comments were read last.
                     */
                    readAt?: string;
                    /** @description Requested are Stacks that comments name, as namespace/name. They are planned also beyond maxStacks. */
                    requested?: string[];
                };
                /**
                 * @description Conditions are the latest observations. Ready is True if all affected Stacks are planned, and after the merge, if
                 *     they have applied it.
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
                /** @description Delivered is what the Git provider has received. */
                delivered?: {
                    /** @description Apply is the status of the merge commit. Unset before there is one. */
                    apply?: {
                        /** @description Context of the status. Example: cairn/prod/net. */
                        context: string;
                        /** @description Digest of its state, description and URL. Empty before it is sent. */
                        digest: string;
                        /** @description Pending reports whether its state is pending. */
                        pending?: boolean;
                    };
                    /**
                     * Format: int64
                     * @description Comment is the ID of the comment. 0 before there is one.
                     */
                    comment?: number;
                    /** @description CommentDigest is the digest of what it reports. */
                    commentDigest?: string;
                    /** @description Failure is why the last request to the Git provider failed. Cairn retries it. Unset if none failed. */
                    failure?: string;
                    /** @description Head is the commit that has the statuses. */
                    head?: string;
                    /** @description Result is the comment with the result of the apply. Unset before there is one. */
                    result?: {
                        /** @description Digest of what it reports. Unset before it is written. */
                        digest?: string;
                        /**
                         * Format: int64
                         * @description ID of the comment. Unset before it is written.
                         */
                        id?: number;
                    };
                    /** @description Shared is the digest of the statuses of other pull requests with the same head. Unset if there are none. */
                    shared?: string;
                    /** @description Statuses of the head, by context. */
                    statuses?: {
                        /** @description Context of the status. Example: cairn/prod/net. */
                        context: string;
                        /** @description Digest of its state, description and URL. Empty before it is sent. */
                        digest: string;
                        /** @description Pending reports whether its state is pending. */
                        pending?: boolean;
                    }[];
                };
                /**
                 * @description Dependents are Stacks that the pull request does not affect, and that are planned after the merge because they
                 *     read outputs that its plans change, by namespace and name. At most 100.
                 */
                dependents?: {
                    /**
                     * @description Message is after which Stacks it is planned, and which outputs are the reason, at most 500 bytes. Example:
                     *     planned after staging/network is applied (vpc).
                     */
                    message: string;
                    /** @description Name of the Stack. */
                    name: string;
                    /** @description Namespace of the Stack. */
                    namespace: string;
                    /**
                     * @description Possible is true if it is not known whether an output that the Stack reads changes: it depends on a Stack that is
                     *     planned after the merge too, or Cairn does not know the changes of all outputs.
                     */
                    possible?: boolean;
                }[];
                /**
                 * Format: date-time
                 * @description EndedAt is when Cairn detected that the pull request is merged or closed. Unset while it is open.
                 */
                endedAt?: string;
                /** @description Head is the commit of the head that the status describes. */
                head?: string;
                /**
                 * Format: date-time
                 * @description HeadSince is spec.updatedAt when that commit was first seen. Comments that are older than the first one are not
                 *     read.
                 */
                headSince?: string;
                /**
                 * @description Holds are the Stacks to which the pull request was applied before its merge, in the order of the first commands.
                 *     At most 500.
                 */
                holds?: {
                    /**
                     * @description Approval is whose approval of the pull request counts for the plan, or why it does not. Unset if there was none.
                     *     Example: "the approval by gitea:git.example.com:bob does not count: the plan does something else".
                     */
                    approval?: string;
                    /**
                     * Format: date-time
                     * @description At is when Cairn read the command.
                     */
                    at: string;
                    /** @description Base is the commit of the base that the head is merged into. */
                    base: string;
                    /**
                     * @description Branch is that of the base when the user applied it. A merge into another one is a close for the Stack. Unset in
                     *     a hold of an earlier version, for which any branch counts.
                     */
                    branch?: string;
                    /** @description By is the user who applied it, as the name of a user for RBAC. Example: gitea:git.example.com:bob. */
                    by: string;
                    /**
                     * Format: date-time
                     * @description Deadline is when it does not hold the Stack any more: spec.pullRequests.holdTimeout of the Repository after the
                     *     command. Unset once the pull request is merged.
                     */
                    deadline?: string;
                    /** @description Head is the commit of the head that a user applied. */
                    head: string;
                    /** @description Message explains the reason, at most 300 bytes. */
                    message?: string;
                    /** @description Name of the Stack. */
                    name: string;
                    /** @description Namespace of the Stack. */
                    namespace: string;
                    /**
                     * Format: date-time
                     * @description OpensAt is when the window opens that the Run waits for. Unset if it waits for none.
                     */
                    opensAt?: string;
                    /**
                     * @description Phase is what the Stack did with the merge.
                     * @enum {string}
                     */
                    phase: "Pending" | "Applying" | "AwaitingApproval" | "Waiting" | "Applied" | "Failed" | "Stopped" | "Superseded" | "Deleted";
                    /** @description Plan is the summary of the plan, without resources and findings of policies. Unset if it is not known. */
                    plan?: {
                        /**
                         * Format: int32
                         * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                         */
                        add: number;
                        /**
                         * Format: int32
                         * @description Change is the number of resources to update in place.
                         */
                        change: number;
                        /**
                         * @description Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
                         *     data sources has no changes.
                         */
                        changes: boolean;
                        /**
                         * Format: int32
                         * @description Destroy is the number of resources to destroy. It includes replacements.
                         */
                        destroy: number;
                        /**
                         * @description Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
                         *     other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
                         *     than 8 KiB of them.
                         */
                        differences?: {
                            /**
                             * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                             *     invoke, or refresh if only the state gets what changed outside of Cairn.
                             */
                            action: string;
                            /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                            /**
                             * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                             *     [desired_capacity, "tags[\"owner\"]"].
                             */
                            attributes?: string[];
                        }[];
                        /** @description Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest. */
                        digest: string;
                        /**
                         * @description EngineVersion is the exact version of the engine that created the plan. Only the same version applies
                         *     it. Example: 1.12.6.
                         */
                        engineVersion?: string;
                        /**
                         * @description Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
                         *     outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
                         *     their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
                         *     could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
                         *     5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
                         */
                        fingerprint?: string;
                        /**
                         * Format: int32
                         * @description Forget is the number of resources to remove from the state without destroying them.
                         */
                        forget: number;
                        /**
                         * @description Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
                         *     plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
                         *     it, or if the node reports no digest of the image. Example:
                         *     ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
                         */
                        image?: string;
                        /**
                         * Format: int32
                         * @description Import is the number of resources to import into the state.
                         */
                        import: number;
                        /**
                         * Format: int32
                         * @description Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
                         *     function. An action is no resource: no other number includes it.
                         */
                        invoke?: number;
                        /**
                         * Format: int32
                         * @description MoreOutputs is the number of outputs that change and are not in outputs.
                         */
                        moreOutputs?: number;
                        /**
                         * @description Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
                         *     most 100. Empty if Cairn cannot read the plan file.
                         */
                        outputs?: {
                            /** @description Action is the planned action: create, update or delete. */
                            action: string;
                            /** @description Known is true if all of the new value is known before the apply. False for an output that is deleted. */
                            known?: boolean;
                            /** @description Name of the output. Example: vpc. */
                            name: string;
                            /** @description Sensitive is true if the code marks the output as sensitive. */
                            sensitive?: boolean;
                        }[];
                        /**
                         * @description Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
                         *     the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
                         */
                        partial?: string;
                        /** @description Policy is the result of the policies for the plan. Unset if there are no policies. */
                        policy?: {
                            /**
                             * Format: int32
                             * @description ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
                             *     spec.apply is Automatic.
                             */
                            approvalRequired?: number;
                            /**
                             * Format: int32
                             * @description Checked is the number of modules and validations that were evaluated.
                             */
                            checked: number;
                            /**
                             * Format: int32
                             * @description Denied is the number of findings that deny the plan.
                             */
                            denied: number;
                            /**
                             * @description Findings are the findings of the policies: first those that deny the plan, then those that require an
                             *     approval, then warnings. At most 50; the counts include all findings.
                             */
                            findings?: {
                                /**
                                 * @description Action is the effect of the finding: Deny, RequireApproval or Warn.
                                 * @enum {string}
                                 */
                                action: "Deny" | "RequireApproval" | "Warn";
                                /** @description Message is the text of the finding. Example: "bucket logs has no tag owner". */
                                message: string;
                                /**
                                 * @description Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
                                 *     namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
                                 */
                                policy: string;
                            }[];
                            /**
                             * Format: int32
                             * @description Warned is the number of findings that are warnings.
                             */
                            warned: number;
                        };
                        /**
                         * Format: int32
                         * @description Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
                         *     values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
                         *     count in forget.
                         */
                        refresh?: number;
                        /**
                         * Format: int32
                         * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                         */
                        replace: number;
                        /**
                         * @description Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
                         *     replace. At most 100; the counts include all.
                         */
                        resources?: {
                            /**
                             * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                             *     invoke, or refresh if only the state gets what changed outside of Cairn.
                             */
                            action: string;
                            /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                        }[];
                        /** @description Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine. */
                        script?: boolean;
                        /**
                         * @description Shape is the same for two plans of this installation that change the same in the same way, with whatever
                         *     values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
                         *     something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
                         */
                        shape?: string;
                        /**
                         * @description StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
                         *     first time or no longer, or a destroy finds that none of its resources exist any more.
                         */
                        stateOnly?: boolean;
                        /**
                         * @description TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
                         *     same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
                         *     of the Stack is Automatic.
                         */
                        takesOverState?: boolean;
                        /**
                         * @description Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
                         *     While this list is not empty, the plan waits for an approval, because applying it may create the
                         *     resources again. At most 100.
                         */
                        untracked?: {
                            /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                            /** @description Reason is why Cairn could not import the resource into the state. */
                            reason: string;
                        }[];
                        /**
                         * @description Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
                         *     other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
                         *     can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
                         */
                        unverified?: string;
                        /**
                         * @description Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
                         *     plan. Unset for other engines.
                         */
                        wrapped?: {
                            /**
                             * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                             *     only Terraform. Example: Terraform.
                             * @enum {string}
                             */
                            name?: "OpenTofu" | "Terraform" | "Terragrunt";
                            /**
                             * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                             *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                             *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                             *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                             *     any version is used. Example: "~> 1.9".
                             */
                            version?: string;
                        };
                    };
                    /** @description Reason is the reason that the Run or the Stack reports. Example: AwaitingApproval. */
                    reason?: string;
                    /**
                     * @description Released is why the pull request does not hold the Stack any more. Unset while it does.
                     * @enum {string}
                     */
                    released?: "Merged" | "Closed" | "Unlocked" | "Expired" | "Deleted";
                    /** @description Run is the Run that applies the merge, or code that has it. Unset if there is none. */
                    run?: string;
                }[];
                /** @description Merge is the merge that the status describes. Unset before the first merge. */
                merge?: {
                    /** @description Base is the commit of the base. */
                    base: string;
                    /** @description Conflicts are the paths that conflict, at most 100. */
                    conflicts?: string[];
                    /** @description Head is the commit of the head. */
                    head: string;
                    /** @description Tree is the ID of the merged tree. Unset if there are conflicts. */
                    tree?: string;
                };
                /**
                 * Format: int32
                 * @description MoreDependents is the number of Stacks beyond these. It includes those in namespaces that may not use the
                 *     Repository, which are not named.
                 */
                moreDependents?: number;
                /**
                 * Format: int32
                 * @description MoreStackSets is the number of StackSets beyond these.
                 */
                moreStackSets?: number;
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
                 *     PullRequest.
                 */
                observedGeneration?: number;
                /**
                 * @description Phase is what Cairn does with the pull request.
                 * @enum {string}
                 */
                phase?: "Merging" | "Conflict" | "Failed" | "Draft" | "AwaitingCommand" | "Planned" | "Closed" | "Applying" | "Applied" | "ApplyFailed";
                /**
                 * Format: int64
                 * @description Plans is the number of plans that were started. The names of their Runs depend on it, so that a Run that was
                 *     canceled is never used again.
                 */
                plans?: number;
                /**
                 * @description Requirements are those of the Repository for an apply before the merge, in the order of its list. Unset while the
                 *     pull request has no plan that a comment can apply.
                 */
                requirements?: {
                    /** @description Message is what is missing, and who can act, at most 500 bytes. Unset if it is met. */
                    message?: string;
                    /** @description Stacks are those that it keeps back, as namespace/name. Empty for all. */
                    stacks?: string[];
                    /**
                     * @description State is Met, Missing or Unknown.
                     * @enum {string}
                     */
                    state: "Met" | "Missing" | "Unknown";
                    /**
                     * @description Type is the requirement.
                     * @enum {string}
                     */
                    type: "Approved" | "Mergeable" | "Undiverged";
                }[];
                /**
                 * @description Skipped are affected Stacks beyond spec.pullRequests.maxStacks of the Repository that no comment has requested,
                 *     as namespace/name. At most 1,000.
                 */
                skipped?: string[];
                /**
                 * @description StackSets are those whose lists of Stacks the merge changes, or cannot render: those with an error first, at most
                 *     20. They are compared at the base and at the merge. Nothing is written to them or to their Stacks.
                 */
                stackSets?: {
                    /**
                     * Format: int32
                     * @description Appear is the number of Stacks that would be created.
                     */
                    appear?: number;
                    /**
                     * Format: int32
                     * @description Change is the number of Stacks whose spec, labels or annotations would differ.
                     */
                    change?: number;
                    /**
                     * Format: int32
                     * @description Go is the number of Stacks that would not be generated any more.
                     */
                    go?: number;
                    /** @description Message explains the reason, or is what else prevents that the StackSet writes. */
                    message?: string;
                    /** @description Name of the StackSet. */
                    name: string;
                    /** @description Namespace of the StackSet and of its Stacks. */
                    namespace: string;
                    /**
                     * @description Prune is spec.prune of the StackSet: what happens with Stacks that go.
                     * @enum {string}
                     */
                    prune?: "Keep" | "Delete";
                    /**
                     * @description Reason is the reason that the StackSet would have after the merge if it then wrote nothing. The status of the
                     *     pull request fails. Unset if it would write, or if it has the same error without the merge. Example:
                     *     RenderingFailed.
                     */
                    reason?: string;
                    /**
                     * Format: int32
                     * @description Return is the number of Stacks that exist, were gone, and would continue.
                     */
                    return?: number;
                    /** @description Stacks are the first 20 of these, in the order of the numbers above. */
                    stacks?: {
                        /** @description Directory of the Stack, at most 255 bytes. Unset if its item has none. */
                        directory?: string;
                        /**
                         * @description Effect of the merge on the Stack.
                         * @enum {string}
                         */
                        effect: "Go" | "Change" | "Return" | "Appear";
                        /** @description Fields of the Stack that would change, at most 10. Example: [spec.source.git.path]. */
                        fields?: string[];
                        /** @description Name of the Stack. */
                        name: string;
                    }[];
                }[];
                /** @description Stacks are the affected Stacks that are planned, by namespace and name. */
                stacks?: {
                    /** @description Approval is the approval of the plan by a comment or a review. Unset if there is none. */
                    approval?: {
                        /**
                         * Format: date-time
                         * @description At is when Cairn read the comment, or the time of the review at the Git provider.
                         */
                        at: string;
                        /**
                         * @description Author is true if the user has a commit in the pull request or opened it, or may have. With
                         *     spec.preventSelfApproval of the Stack, the approval does not count then.
                         */
                        author?: boolean;
                        /** @description By is the user who approved, as the name of a user for RBAC. Example: gitea:git.example.com:bob. */
                        by: string;
                        /** @description Fingerprint is that of the approved plan. The approval counts for all plans with this fingerprint. */
                        fingerprint: string;
                        /**
                         * @description From is Reviews if it is a review at the Git provider. Default: Commands.
                         * @enum {string}
                         */
                        from?: "Commands" | "Reviews";
                        /** @description Head is the head commit that was approved. */
                        head: string;
                        /** @description PlanDigest is status.plan.digest of the Run whose plan was approved. */
                        planDigest: string;
                        /**
                         * @description Void is why the approval does not count any more. Unset while it counts. Example: the plan does something else
                         *     now.
                         */
                        void?: string;
                    };
                    /**
                     * @description AwaitsCommand: the Stack is not planned before a user with the verb plan on it comments /cairn plan with the head
                     *     commit. The message has why.
                     */
                    awaitsCommand?: boolean;
                    /**
                     * @description Backend is the type of the engine's backend that has the state. The plan gets Cairn's copy of the state, which
                     *     the last Run of the Stack read: it does not show what users changed there since. Unset if Cairn keeps the state.
                     *     Example: s3.
                     */
                    backend?: string;
                    /**
                     * @description Deferred: the Stack cannot be planned before the merge, because it reads an output that does not exist yet and
                     *     that another Stack of the pull request adds. The message names both. The status of the pull request does not
                     *     fail.
                     */
                    deferred?: boolean;
                    /**
                     * @description DeletedDirectory is the directory of the Stack if the pull request deletes it. The plan then shows what
                     *     destroying the Stack would do. The merge does not destroy it.
                     */
                    deletedDirectory?: string;
                    /** @description InputsDigest is the digest of everything that decides the plan. Unset if the plan cannot start. */
                    inputsDigest?: string;
                    /** @description Message is why there is no plan, or why it failed. */
                    message?: string;
                    /** @description Name of the Stack. */
                    name: string;
                    /** @description Namespace of the Stack. */
                    namespace: string;
                    /**
                     * @description New is true if a StackSet would create the Stack after the merge. The plan then begins with an empty state. If
                     *     Message has why there is none, the status of the pull request does not fail.
                     */
                    new?: boolean;
                    /** @description OnMerge is what the Stack does when the pull request is merged. Unset while it is not known. */
                    onMerge?: {
                        /**
                         * @description Action is what follows the merge.
                         * @enum {string}
                         */
                        action: "Apply" | "AwaitApproval" | "Wait" | "Nothing" | "Stop" | "Move";
                        /** @description Message explains the action, at most 500 bytes. Example: spec.requireApprovalFor of the Stack lists Delete. */
                        message?: string;
                        /** @description Rules are those that require an approval. Empty unless the action is AwaitApproval or Wait. */
                        rules?: string[];
                        /**
                         * @description Stage is the stage of a Pipeline whose release the Stack has, as PIPELINE/STAGE. Empty if none selects the Stack.
                         *     Example: shop/production.
                         */
                        stage?: string;
                    };
                    /**
                     * @description Phase of the Run.
                     * @enum {string}
                     */
                    phase?: "Queued" | "Planning" | "AwaitingApproval" | "Applying" | "Shell" | "Succeeded" | "Failed" | "Canceled" | "Superseded";
                    /**
                     * @description Plan is the summary of the plan, without resources, and with at most 5 findings of policies and 30 outputs. Unset
                     *     until the plan succeeds.
                     */
                    plan?: {
                        /**
                         * Format: int32
                         * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                         */
                        add: number;
                        /**
                         * Format: int32
                         * @description Change is the number of resources to update in place.
                         */
                        change: number;
                        /**
                         * @description Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
                         *     data sources has no changes.
                         */
                        changes: boolean;
                        /**
                         * Format: int32
                         * @description Destroy is the number of resources to destroy. It includes replacements.
                         */
                        destroy: number;
                        /**
                         * @description Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
                         *     other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
                         *     than 8 KiB of them.
                         */
                        differences?: {
                            /**
                             * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                             *     invoke, or refresh if only the state gets what changed outside of Cairn.
                             */
                            action: string;
                            /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                            /**
                             * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                             *     [desired_capacity, "tags[\"owner\"]"].
                             */
                            attributes?: string[];
                        }[];
                        /** @description Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest. */
                        digest: string;
                        /**
                         * @description EngineVersion is the exact version of the engine that created the plan. Only the same version applies
                         *     it. Example: 1.12.6.
                         */
                        engineVersion?: string;
                        /**
                         * @description Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
                         *     outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
                         *     their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
                         *     could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
                         *     5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
                         */
                        fingerprint?: string;
                        /**
                         * Format: int32
                         * @description Forget is the number of resources to remove from the state without destroying them.
                         */
                        forget: number;
                        /**
                         * @description Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
                         *     plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
                         *     it, or if the node reports no digest of the image. Example:
                         *     ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
                         */
                        image?: string;
                        /**
                         * Format: int32
                         * @description Import is the number of resources to import into the state.
                         */
                        import: number;
                        /**
                         * Format: int32
                         * @description Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
                         *     function. An action is no resource: no other number includes it.
                         */
                        invoke?: number;
                        /**
                         * Format: int32
                         * @description MoreOutputs is the number of outputs that change and are not in outputs.
                         */
                        moreOutputs?: number;
                        /**
                         * @description Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
                         *     most 100. Empty if Cairn cannot read the plan file.
                         */
                        outputs?: {
                            /** @description Action is the planned action: create, update or delete. */
                            action: string;
                            /** @description Known is true if all of the new value is known before the apply. False for an output that is deleted. */
                            known?: boolean;
                            /** @description Name of the output. Example: vpc. */
                            name: string;
                            /** @description Sensitive is true if the code marks the output as sensitive. */
                            sensitive?: boolean;
                        }[];
                        /**
                         * @description Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
                         *     the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
                         */
                        partial?: string;
                        /** @description Policy is the result of the policies for the plan. Unset if there are no policies. */
                        policy?: {
                            /**
                             * Format: int32
                             * @description ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
                             *     spec.apply is Automatic.
                             */
                            approvalRequired?: number;
                            /**
                             * Format: int32
                             * @description Checked is the number of modules and validations that were evaluated.
                             */
                            checked: number;
                            /**
                             * Format: int32
                             * @description Denied is the number of findings that deny the plan.
                             */
                            denied: number;
                            /**
                             * @description Findings are the findings of the policies: first those that deny the plan, then those that require an
                             *     approval, then warnings. At most 50; the counts include all findings.
                             */
                            findings?: {
                                /**
                                 * @description Action is the effect of the finding: Deny, RequireApproval or Warn.
                                 * @enum {string}
                                 */
                                action: "Deny" | "RequireApproval" | "Warn";
                                /** @description Message is the text of the finding. Example: "bucket logs has no tag owner". */
                                message: string;
                                /**
                                 * @description Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
                                 *     namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
                                 */
                                policy: string;
                            }[];
                            /**
                             * Format: int32
                             * @description Warned is the number of findings that are warnings.
                             */
                            warned: number;
                        };
                        /**
                         * Format: int32
                         * @description Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
                         *     values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
                         *     count in forget.
                         */
                        refresh?: number;
                        /**
                         * Format: int32
                         * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                         */
                        replace: number;
                        /**
                         * @description Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
                         *     replace. At most 100; the counts include all.
                         */
                        resources?: {
                            /**
                             * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                             *     invoke, or refresh if only the state gets what changed outside of Cairn.
                             */
                            action: string;
                            /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                        }[];
                        /** @description Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine. */
                        script?: boolean;
                        /**
                         * @description Shape is the same for two plans of this installation that change the same in the same way, with whatever
                         *     values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
                         *     something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
                         */
                        shape?: string;
                        /**
                         * @description StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
                         *     first time or no longer, or a destroy finds that none of its resources exist any more.
                         */
                        stateOnly?: boolean;
                        /**
                         * @description TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
                         *     same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
                         *     of the Stack is Automatic.
                         */
                        takesOverState?: boolean;
                        /**
                         * @description Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
                         *     While this list is not empty, the plan waits for an approval, because applying it may create the
                         *     resources again. At most 100.
                         */
                        untracked?: {
                            /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                            address: string;
                            /** @description Reason is why Cairn could not import the resource into the state. */
                            reason: string;
                        }[];
                        /**
                         * @description Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
                         *     other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
                         *     can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
                         */
                        unverified?: string;
                        /**
                         * @description Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
                         *     plan. Unset for other engines.
                         */
                        wrapped?: {
                            /**
                             * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                             *     only Terraform. Example: Terraform.
                             * @enum {string}
                             */
                            name?: "OpenTofu" | "Terraform" | "Terragrunt";
                            /**
                             * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                             *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                             *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                             *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                             *     any version is used. Example: "~> 1.9".
                             */
                            version?: string;
                        };
                    };
                    /**
                     * Format: int64
                     * @description PlanNumber is status.plans of the PullRequest when the plan was started.
                     */
                    planNumber?: number;
                    /**
                     * Format: int32
                     * @description Retries is the number of comments that requested another plan of the same inputs.
                     */
                    retries?: number;
                    /** @description Run is the Run with the plan, in the namespace of the Stack. Unset before it is created. */
                    run?: string;
                    /** @description RunUID is the UID of the Run. */
                    runUID?: string;
                    /**
                     * @description Shown is since when the comment of Cairn has the plan. A review that is not newer approves nothing. Unset while
                     *     the comment does not have it, and unless spec.pullRequests.carryApproval.from of the Repository lists Reviews.
                     */
                    shown?: {
                        /** @description Fingerprint is that of the plan. Another plan with this fingerprint does the same. */
                        fingerprint: string;
                        /** @description Head is the head commit. */
                        head: string;
                        /**
                         * Format: date-time
                         * @description Since is when the Git provider received it, by the clock of the Git provider, or when a comment /cairn reject
                         *     ended the approvals before it.
                         */
                        since: string;
                    };
                    /**
                     * @description UnappliedRun is the Run of the Stack with changes of the base that were not applied when the plan ended, so that
                     *     the plan includes them. Unset if there was none. Example: net-2.
                     */
                    unappliedRun?: string;
                }[];
                /** @description Unplanned is what the merge changes and no plan shows. Unset if there is nothing. */
                unplanned?: {
                    /** @description Directories have code, had none before, and neither a Stack nor a StackSet reads them. At most 20. */
                    directories?: string[];
                    /** @description Manifests are changed files with manifests of Cairn, which a GitOps tool or a user applies. At most 20. */
                    manifests?: string[];
                    /**
                     * Format: int32
                     * @description MoreDirectories is the number of directories beyond these.
                     */
                    moreDirectories?: number;
                    /**
                     * Format: int32
                     * @description MoreManifests is the number of files beyond these.
                     */
                    moreManifests?: number;
                };
            };
        };
        /** @description Repository is a git repository from which Stacks read code. Cairn keeps one mirror of it for all of its Stacks. */
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
            /** @description Spec declares where the repository is and which namespaces can use it. */
            spec: {
                /**
                 * @description AllowedNamespaces lists other namespaces whose Stacks can use this Repository. "*" allows all
                 *     namespaces. At most 200. Default: empty, only Stacks in the namespace of the Repository can use it.
                 */
                allowedNamespaces?: string[];
                /**
                 * @description Credentials is a Secret with the credentials for the remote. Cairn sends them to no other host. The
                 *     Secret has the keys username and password; or bearerToken; or, for SSH, identity, known_hosts and
                 *     optionally password; or githubAppID, githubAppInstallationID and githubAppPrivateKey. The key ca.crt
                 *     adds a certificate authority (CA) for the remote. Cairn rejects other keys. If unset, Cairn fetches without
                 *     credentials. Example: {secret: {name: infra-git}}.
                 */
                credentials?: {
                    /** @description Secret is a Secret in the same namespace. */
                    secret: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                };
                /**
                 * @description Engine is the default of spec.engine for the Stacks of this Repository. It sets the fields that a Stack
                 *     leaves unset. A version applies only to Stacks with the same engine, and takes precedence over a version
                 *     that the code requires. A change starts a new plan of the Stacks that it affects. Example: {name:
                 *     Terraform, version: "~> 1.9"}.
                 */
                engine?: {
                    /**
                     * @description Name is the engine: OpenTofu, Terraform or Terragrunt. Default: spec.engine.name of the Repository,
                     *     otherwise OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                     *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                     *     code decides: the nearest .opentofu-version, .terraform-version or .terragrunt-version file in the
                     *     directory of the root module or a parent, otherwise required_version. If the code does not decide
                     *     either, any version is used. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs. Only allowed with name: Terragrunt. Default: OpenTofu, or
                     *     Terraform if the runner image contains only Terraform, in a version that the code accepts. Example:
                     *     {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                         *     only Terraform. Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                         *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                         *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                         *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                         *     any version is used. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description Interval is the time between two fetches. Webhooks trigger additional fetches. At least 1s and at most
                 *     8760h. 0s disables periodic fetches: then only webhooks and requests trigger them. Default: 5m.
                 * @default 5m
                 */
                interval: string;
                /** @description LFS fetches the content of files that are stored in Git LFS. Default: false. */
                lfs?: boolean;
                /**
                 * @description Limits are the concurrency limits of the Stacks of this Repository. If unset, only the limits of the
                 *     installation apply.
                 */
                limits?: {
                    /**
                     * Format: int32
                     * @description Runs is the maximum number of Runs that plan or apply at the same time. Default: 0, no limit.
                     */
                    runs?: number;
                };
                /**
                 * @description PullRequests plans the open pull requests: Cairn merges each into its base, plans the Stacks that it affects, and
                 *     writes a comment and commit statuses. Stacks have to read the base of the pull request. If unset, pull requests
                 *     are ignored.
                 */
                pullRequests?: {
                    /**
                     * @description Apply is AfterMerge, or BeforeMerge to let users with the verb apply on a Stack apply its plan by the comment
                     *     /cairn apply before the merge, with the credentials of the Stack. The Stack then has the code of the pull request
                     *     until that is merged or closed. Default: AfterMerge.
                     * @default AfterMerge
                     * @enum {string}
                     */
                    apply: "AfterMerge" | "BeforeMerge";
                    /**
                     * @description AutomaticMerge merges a pull request at the Git provider once each Stack that it changes is applied from its
                     *     newest head by /cairn apply, and no apply failed. Who may apply can then have it merged, within the rules of the
                     *     Git provider for the user of the token. Requires apply: BeforeMerge. Unset: a user merges. Example: {method:
                     *     Squash}.
                     */
                    automaticMerge?: {
                        /**
                         * @description Method is how the Git provider merges it: Merge with a merge commit, Squash, or Rebase. The repository has to
                         *     allow it. At GitLab, the project decides between Merge and Rebase, so that only Merge and Squash are supported
                         *     there. Example: Squash.
                         * @enum {string}
                         */
                        method: "Merge" | "Squash" | "Rebase";
                    };
                    /**
                     * @description CarryApproval lets an approval in the pull request count after the merge, if the plan there does the same. Unset:
                     *     plans are approved after the merge. Example: {from: [Commands, Reviews], maxAge: 24h}.
                     */
                    carryApproval?: {
                        /**
                         * @description From are the ways to approve. Commands are comments /cairn approve. Reviews are reviews at the Git provider: one
                         *     that approves the head counts for each plan of this head that the comment of Cairn had before the review, if the
                         *     user has the verb approve on Runs, and did not open the pull request. Default: [Commands].
                         * @default [
                         *       "Commands"
                         *     ]
                         */
                        from: ("Commands" | "Reviews")[];
                        /**
                         * @description MaxAge is how long an approval counts. At least 1m and at most 720h. Default: 24h.
                         * @default 24h
                         */
                        maxAge: string;
                    };
                    /**
                     * @description Credentials is a Secret with the key token: a token of the Git provider that can read pull requests, and write
                     *     comments and commit statuses. Comments are of the user of this token. For an App of GitHub, the keys are
                     *     githubAppID, githubAppInstallationID and githubAppPrivateKey. The key ca.crt adds a certificate authority for its
                     *     API; without it, that of spec.credentials applies. Example: {secret: {name: infra-pulls}}.
                     */
                    credentials: {
                        /** @description Secret is a Secret in the same namespace. */
                        secret: {
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                    };
                    /**
                     * @description Drafts is Plan to plan drafts, or Skip. Default: Skip.
                     * @default Skip
                     * @enum {string}
                     */
                    drafts: "Plan" | "Skip";
                    /**
                     * @description HoldTimeout is how long a pull request that is applied before its merge holds a Stack, from the command on. After
                     *     it, the Stack goes back to the base as after a close: by a plan that waits for an approval, and not before the
                     *     end of an apply in progress. A change is for later commands. At least 1m and at most 720h. Default: 72h.
                     * @default 72h
                     */
                    holdTimeout: string;
                    /**
                     * @description Interval is the time between two requests for the open pull requests. Webhooks trigger additional ones. At least
                     *     1s and at most 24h. Default: 1m.
                     * @default 1m
                     */
                    interval: string;
                    /**
                     * Format: int32
                     * @description MaxStacks is the maximum number of Stacks that a pull request plans without a comment that names them. At most
                     *     200. Default: 50.
                     * @default 50
                     */
                    maxStacks: number;
                    /**
                     * @description Provider is the Git provider.
                     * @enum {string}
                     */
                    provider: "Gitea" | "Forgejo" | "GitHub" | "GitLab" | "Bitbucket" | "BitbucketDataCenter";
                    /**
                     * @description RequireCommand requires a comment /cairn plan with the head commit, by a user with the verb plan, before each
                     *     head is planned, also if that user opened the pull request. Without it, a user who can push to a branch of the
                     *     repository can have code planned in the pull request of another user, since a Git provider does not prove who
                     *     wrote a commit. Default: false.
                     */
                    requireCommand?: boolean;
                    /**
                     * @description Requirements are what a pull request needs when /cairn apply would apply it before its merge. Approved: a review
                     *     of the head commit approves it, by another user than the one who opened it, and the Git provider requires no
                     *     other review. Mergeable: the Git provider would merge it now. Undiverged: no commit of the base that the head
                     *     lacks changes the code of the Stack. What cannot be read is not met. They are for commands, and have no effect on
                     *     a merge. Default: none.
                     */
                    requirements?: ("Approved" | "Mergeable" | "Undiverged")[];
                    /** @description Runner is the default of spec.pullRequests.runner for Stacks in the namespace of the Repository. */
                    runner?: {
                        /**
                         * @description Env are environment variables of the engine, in place of spec.env of the Stack. Names that start with CAIRN_ are
                         *     reserved and rejected, and so are resourceFieldRef and fileKeyRef. At most 200.
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
                        /**
                         * @description EnvFrom are Secrets and ConfigMaps with environment variables of the engine, in place of spec.envFrom of the
                         *     Stack. At most 50.
                         */
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
                        /** @description ServiceAccountName is the ServiceAccount of the pod, in the namespace of the Stack. Default: default. */
                        serviceAccountName?: string;
                    };
                    /**
                     * @description StatusContext is the name of the aggregate commit status, and begins those of Stacks. Set another one if a second
                     *     Repository or cluster plans pull requests of the same Git repository, since a commit has one status for each
                     *     name. Example: cairn-staging. Default: cairn.
                     * @default cairn
                     */
                    statusContext: string;
                    /**
                     * @description URL of the Git provider. Default: the scheme and host of spec.url, if that is http or https. Example:
                     *     https://git.example.com.
                     */
                    url?: string;
                };
                /**
                 * @description Ref is the branch, tag or commit for Stacks that do not specify a ref. Default: the default branch of
                 *     the remote (HEAD). Example: main.
                 */
                ref?: string;
                /**
                 * @description Submodules fetches the git submodules that Stacks use. Cairn uses the credentials only for submodules on
                 *     the same host. Default: false.
                 */
                submodules?: boolean;
                /**
                 * @description Timeout is the maximum duration of one fetch, at most 24h. Default: 10m.
                 * @default 10m
                 */
                timeout: string;
                /**
                 * @description URL is the address to fetch from: https://, http://, ssh://, or user@host:path for SSH. It must not
                 *     contain credentials. Example: https://git.example.com/acme/infra.git.
                 */
                url: string;
                /**
                 * @description Webhook is a Secret with the signing secret of webhooks, and enables the webhook of the Git provider at
                 *     /hooks/<namespace>/<name>. If unset, Cairn rejects webhooks of this Repository. Example: {secret: {name:
                 *     infra-webhook}, keys: [token]}.
                 */
                webhook?: {
                    /**
                     * @description Keys are the keys of the Secret whose values are signing secrets. Cairn accepts a request that is signed
                     *     with any of them, so secrets can be rotated. No other value of the Secret signs. At most 10. If unset,
                     *     the Secret must have one key. Example: [token].
                     */
                    keys?: string[];
                    /** @description Secret is a Secret in the same namespace. */
                    secret: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                };
            };
            /**
             * @description Status reports what Cairn fetched. observedGeneration is -1 until an operator reconciles the Repository.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /**
                 * @description Conditions are the latest observations of the Repository. Ready is always set. Stalled is set only while
                 *     a user must act.
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
                 * @description LastFetch is the last fetch that changed a ref, or whose result differs from that of the fetch before.
                 *     Cairn does not record other fetches.
                 */
                lastFetch?: {
                    /** @description Duration is the duration of the fetch. Example: 1.2s. */
                    duration: string;
                    /**
                     * Format: date-time
                     * @description FinishedAt is the time when the fetch ended.
                     */
                    finishedAt: string;
                };
                /** @description LastHandledRequest is the last request for a fetch (annotation cairn.dev/requested-at) after which a fetch ended. */
                lastHandledRequest?: {
                    /**
                     * @description Rejected is true if the request was rejected, for example because its time is in the future. Cairn does not retry
                     *     it; request again with another value. A Repository rejects no request.
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
                 * @description ObservedGeneration is the generation of the spec that the status describes. -1 until an operator
                 *     reconciles the Repository.
                 */
                observedGeneration?: number;
                /** @description Refs are the default ref and the refs that Stacks use, each with its commit. At most 200. */
                refs?: {
                    /** @description Name is the ref as the Repository or its Stacks specify it. HEAD is the default branch of the remote. */
                    name: string;
                    /**
                     * @description Revision is the ref and the commit that it resolves to. Unset if the ref does not exist. Example:
                     *     main@sha1:1f3c....
                     */
                    revision?: string;
                }[];
            };
        };
        /**
         * @description Run is one operation of a Stack: a plan and, once it is approved, the apply of exactly that plan. Cairn creates
         *     Runs; users read and approve them.
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
            /** @description Spec declares the operation. It is immutable except for approval, rejection and cancel. */
            spec: {
                /**
                 * @description AfterHold describes what the Stack had instead of the code of its source: a pull request that was applied before
                 *     its merge and was not merged, or the release of a Pipeline that does not select the Stack any more. The Run
                 *     leaves what that applied, so that its plan requires an approval. Unset if there is none. Example: pull request
                 *     12, which was closed without a merge.
                 */
                afterHold?: string;
                /**
                 * @description AfterPartial is the Run before this one, which applied a plan that did not have all changes of the code, or that
                 *     accepted drift. The plan of this Run has the rest, and requires an approval. Unset if there is none. Example:
                 *     net-7.
                 */
                afterPartial?: string;
                /**
                 * @description Approval approves the plan, so that Cairn applies it. It is valid for one plan only and requires the
                 *     verb approve on the Run. If unset, a plan that requires an approval is not applied.
                 */
                approval?: {
                    /**
                     * @description By is the name of the user who approves, as the API server authenticates it. Other names are rejected.
                     *     Example: alice@example.com.
                     */
                    by: string;
                    /** @description PlanDigest is status.plan.digest of the approved plan. */
                    planDigest: string;
                };
                /**
                 * @description Cancel ends the Run. A Run that is queued or waits for an approval ends immediately. An engine in
                 *     progress is interrupted: it finishes the operations that it started and saves the state. It requires the
                 *     verb cancel on the Run and cannot be unset. Default: false.
                 */
                cancel?: boolean;
                /** @description CanceledBy is the name of the user who canceled the Run. Example: alice@example.com. */
                canceledBy?: string;
                /** @description Cause is the reason why the Run was created. */
                cause: {
                    /**
                     * @description By is the user who caused the Run: the author of the commit, the user who requested the Run or who
                     *     changed the Stack or its Repository. Unset if Cairn does not know the user. Example: alice@example.com.
                     */
                    by?: string;
                    /** @description Message describes the cause. Example: "Secret fleet-tfvars changed". */
                    message?: string;
                    /**
                     * @description Type is the type of the cause: Spec, Variables, Commit, Dependency, Drift, Deletion, Manual or PullRequest.
                     * @enum {string}
                     */
                    type: "Spec" | "Variables" | "VariableSet" | "StackPolicy" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual" | "PullRequest";
                };
                /**
                 * @description CausedBy are all users who caused what the Run applies: who changed the Stack, its Repository or its State since
                 *     the last apply, the authors and committers of the commits since then, and who requested the Run. At most 50.
                 *     Unset if no user caused it, or if an older release of Cairn created the Run.
                 */
                causedBy?: {
                    /**
                     * @description Kind is what the user did: Spec, Repository, State, Author, Committer or Request.
                     * @enum {string}
                     */
                    kind: "Spec" | "Repository" | "State" | "Author" | "Committer" | "Request";
                    /**
                     * @description Name is the name of the user, as the API server authenticates it. Of an author or committer it is the name and
                     *     e-mail address in the commit, which is not verified. Example: alice@example.com.
                     */
                    name: string;
                    /**
                     * @description Of is the newest change of the user: a generation of the spec, a commit, or a version of the State. Example:
                     *     1f3c2ab.
                     */
                    of?: string;
                    /**
                     * @description Users are the names under which the API server can know an author or committer, in lower case: the name, the
                     *     e-mail address, and its part before the @. Unset for other kinds. Example: [alice smith, alice@example.com,
                     *     alice].
                     */
                    users?: string[];
                }[];
                /**
                 * @description CausedByUnknown is why other users than those in causedBy may have caused the Run too. With preventSelfApproval,
                 *     an approval then requires that another user requested the Run. Unset if all users are known. Example: "commit
                 *     1f3c2ab is not in the repository any more".
                 */
                causedByUnknown?: string;
                /**
                 * @description InputsDigest is the digest of everything that decides the result: code, values and engine. It is
                 *     status.inputsDigest of the Stack at the time when the Run was created. For a destroy, it is the digest
                 *     of the last apply. Example: sha256:1f3c....
                 */
                inputsDigest: string;
                /**
                 * @description Operation is what the Run does. Apply plans and applies. Plan only plans. Destroy plans the destruction
                 *     of all resources and applies that plan. Shell runs a pod in which a user can use the engine.
                 * @enum {string}
                 */
                operation: "Apply" | "Plan" | "Destroy" | "Shell";
                /**
                 * @description PlanOptions are options of the plan that a user requested. Such a plan always requires an approval. Unset for a
                 *     plan of all that is declared.
                 */
                planOptions?: {
                    /**
                     * @description Excludes leave these resources and modules out of the plan, and what depends on them (-exclude). OpenTofu only.
                     *     Example: ["aws_instance.web"].
                     */
                    excludes?: string[];
                    /**
                     * @description RefreshOnly accepts drift (-refresh-only): the apply writes to the state what changed outside of Cairn, and the
                     *     values of outputs, and changes no resource. The plan lists all of that. It cannot be combined with other options.
                     *     Default: false.
                     */
                    refreshOnly?: boolean;
                    /**
                     * @description Replace are resources that the plan replaces, although nothing in the code requires it (-replace). Example:
                     *     ["aws_instance.web"].
                     */
                    replace?: string[];
                    /**
                     * @description Targets limit the plan to these resources and modules, and to what they depend on (-target). Example:
                     *     ["module.net"].
                     */
                    targets?: string[];
                };
                /**
                 * @description PreventSelfApproval rejects an approval by a user in cause.by or causedBy. It is true if
                 *     spec.preventSelfApproval of the Stack was true at the time when the Run was created, or if the State keeps
                 *     that rule. Default: false. Example: true.
                 */
                preventSelfApproval?: boolean;
                /**
                 * @description PullRequest is the pull request whose merge result the Run plans. Such a Run is no part of the history of its
                 *     Stack, and applies nothing. Unset for other Runs.
                 */
                pullRequest?: {
                    /**
                     * @description DestroyInputsDigest is the inputs digest of the last apply of the Stack, whose variables a plan of its
                     *     destruction uses. Set if the pull request deletes the directory of the Stack: the Run then plans the destruction.
                     */
                    destroyInputsDigest?: string;
                    /** @description Name of the PullRequest. */
                    name: string;
                    /** @description Namespace of the PullRequest. */
                    namespace: string;
                    /**
                     * @description NewStack is true if a StackSet would create the Stack after the merge, so that it does not exist. The Run then
                     *     belongs to the PullRequest, and plans with an empty state. Default: false.
                     */
                    newStack?: boolean;
                    /**
                     * Format: int64
                     * @description PlanNumber is the number of the plan among those of the PullRequest.
                     */
                    planNumber?: number;
                    /** @description UID of the PullRequest. */
                    uid: string;
                };
                /**
                 * @description Rejection ends a Run that waits for an approval, without applying its plan. It requires the verb reject
                 *     on the Run.
                 */
                rejection?: {
                    /**
                     * @description By is the name of the user who rejects, as the API server authenticates it. Other names are rejected.
                     *     Example: alice@example.com.
                     */
                    by: string;
                    /** @description PlanDigest is status.plan.digest of the rejected plan. */
                    planDigest: string;
                    /** @description Reason explains the rejection to other users. Example: "not on a Friday". */
                    reason?: string;
                };
                /**
                 * @description Requirements are what a pull request needs when the Run would apply it before its merge.
                 *     status.requirements has which of them are met. Unset if the Repository has none, or if the Run applies no pull
                 *     request. Example: {types: [Approved], pullRequest: {namespace: web, name: infra-12, number: 12}}.
                 */
                requirements?: {
                    /** @description PullRequest is the PullRequest whose code the Run applies, and which evaluates them. */
                    pullRequest: {
                        /** @description Name of the PullRequest. */
                        name: string;
                        /** @description Namespace of the PullRequest. */
                        namespace: string;
                        /**
                         * Format: int64
                         * @description Number of the pull request at the Git provider. Example: 77.
                         */
                        number: number;
                    };
                    /** @description Types are spec.pullRequests.requirements of the Repository at the time when the Run was created. */
                    types: ("Approved" | "Mergeable" | "Undiverged")[];
                };
                /** @description Revision is the revision of the source, for display. Example: main@sha1:1f3c.... */
                revision?: string;
                /**
                 * @description SelfApprovalRemovedBy is the user who removed spec.preventSelfApproval from the Stack, or created the
                 *     Stack again without it. An approval by this user is rejected too. The apply of the plan ends the rule.
                 *     Unset if the Stack has the rule, or no rule applies. Example: alice@example.com.
                 */
                selfApprovalRemovedBy?: string;
                /**
                 * @description Source is the source of the code at the time when the Run was created. Unset if the code is not from
                 *     git.
                 */
                source?: {
                    /** @description DefaultRef is spec.ref of the Repository. Unset if ref is set. Example: main. */
                    defaultRef?: string;
                    /**
                     * @description Engine is spec.engine of the Repository as text. Unset if the Repository sets nothing. Example: Terraform
                     *     ~> 1.9.
                     */
                    engine?: string;
                    /** @description LFS is spec.lfs of the Repository. Default: false. */
                    lfs?: boolean;
                    /** @description Ref is spec.source.git.ref of the Stack. Unset if the Repository decides. Example: main. */
                    ref?: string;
                    /** @description Repository is the namespace and name of the Repository. Example: shop/infra. */
                    repository: string;
                    /** @description Submodules is spec.submodules of the Repository. Default: false. */
                    submodules?: boolean;
                    /** @description URL is spec.url of the Repository, as the code was fetched. Example: https://git.example.com/acme/infra.git. */
                    url: string;
                };
                /** @description Stack is the Stack of the Run, in the same namespace. */
                stack: {
                    /** @description Name is the name of the object. */
                    name: string;
                };
            };
            /**
             * @description Status reports the progress of the Run. Its only condition is Reconciling until an operator reconciles
             *     the Run.
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
                 * @description Approval is the approval that the plan requires, as Cairn decided it. Set while the phase is AwaitingApproval
                 *     and something requires an approval.
                 */
                approval?: {
                    /**
                     * @description ExcludedUsers are the first 10 users whose approval does not count, as spec.causedBy names them. Example:
                     *     [alice].
                     */
                    excludedUsers?: string[];
                    /**
                     * @description PreventSelfApproval is true if an approval by a user who caused the Run does not count. The Run has the rule
                     *     since it was created, or the Stack has it now.
                     */
                    preventSelfApproval?: boolean;
                    /**
                     * @description RequestRequired is true if no approval counts, since not all users who caused the Run are known
                     *     (spec.causedByUnknown): a user has to request a Run, and another one to approve that.
                     */
                    requestRequired?: boolean;
                    /**
                     * @description RequiredBy are the rules that require the approval: Apply (spec.apply is not Automatic), SelfApproval, Takeover
                     *     (the Stack never applied the state), Orphans (the plan may create resources twice), Changes
                     *     (spec.requireApprovalFor), Unverified (Cairn cannot read the plan), Policy, AfterHold (spec.afterHold) and
                     *     PlanOptions (spec.planOptions or spec.afterPartial).
                     */
                    requiredBy?: string[];
                    /**
                     * @description State is whether spec.approval counts: Pending if there is none. Of OtherPlan, SelfApproval and UnknownCause it
                     *     does not count, and another approval is required. Valid is set while an approved plan waits for something else.
                     * @enum {string}
                     */
                    state: "Pending" | "OtherPlan" | "SelfApproval" | "UnknownCause" | "Valid";
                };
                /**
                 * @description Attempts are the attempts of the Run, oldest first. The last one is the current attempt. At most 20:
                 *     older attempts are removed, except the newest one that may have changed resources.
                 */
                attempts?: {
                    /**
                     * Format: int32
                     * @description Changed is the number of resources that a failed apply changed before it failed. The counts in
                     *     status.plan are the totals. Unset if the number is unknown or the apply succeeded.
                     */
                    changed?: number;
                    /** @description Failure describes why the attempt failed. Unset unless the attempt failed. */
                    failure?: {
                        /**
                         * @description Class decides whether Cairn retries: Transient, ConfigurationError, PolicyDenied, PodLost, Canceled or
                         *     StateNotSaved.
                         * @enum {string}
                         */
                        class: "Transient" | "ConfigurationError" | "PolicyDenied" | "PodLost" | "Canceled" | "StateNotSaved";
                        /** @description Message is the first error of the engine, or the reason why the pod ended. */
                        message: string;
                        /**
                         * @description Reason is a more specific reason than the class, in CamelCase. The Ready condition of the Stack has the
                         *     same reason. Example: BackendInCode.
                         * @enum {string}
                         */
                        reason?: "BackendInCode" | "DiskFull" | "FilesNotDelivered" | "ImagePullFailed" | "Interrupted" | "PlanMismatch" | "PodTerminated" | "PodVanished" | "PreventDestroy";
                    };
                    /**
                     * Format: date-time
                     * @description FinishedAt is the time when the attempt ended. Unset while the attempt is in progress.
                     */
                    finishedAt?: string;
                    /**
                     * Format: int32
                     * @description Number is the number of the attempt within the Run. The first attempt has number 1.
                     */
                    number: number;
                    /**
                     * @description Phase is the phase that the attempt executes: Build, Plan, Apply or Shell.
                     * @enum {string}
                     */
                    phase: "Build" | "Plan" | "Apply" | "Shell";
                    /** @description Pod is the name of the pod in which the attempt runs. Example: net-7-plan-1. */
                    pod: string;
                    /** @description PodUID is the UID of the pod. Cairn accepts reports and state writes of the attempt only from this pod. */
                    podUID: string;
                    /**
                     * Format: date-time
                     * @description StartedAt is the time when Cairn created the pod or, if the pod already ran, assigned the attempt to it.
                     */
                    startedAt: string;
                    /** @description Steps are the steps of the attempt, in the order in which they run. */
                    steps?: {
                        /**
                         * Format: int32
                         * @description ExitCode is the exit code of the program that the step ran. Unset if the step ran no program or the
                         *     program did not exit.
                         */
                        exitCode?: number;
                        /**
                         * Format: date-time
                         * @description FinishedAt is the time when the step ended. Unset if it did not end.
                         */
                        finishedAt?: string;
                        /** @description Message describes the result of the step in one line. */
                        message?: string;
                        /**
                         * @description Name is the name of the step. A hook is named after its time and step, with a number from the second one
                         *     on. Examples: plan, before-init, after-plan-2.
                         */
                        name: string;
                        /**
                         * Format: date-time
                         * @description StartedAt is the time when the step started. Unset if it did not start.
                         */
                        startedAt?: string;
                        /**
                         * @description State is the progress of the step: Waiting, Running, Succeeded, Failed or Skipped.
                         * @enum {string}
                         */
                        state: "Waiting" | "Running" | "Succeeded" | "Failed" | "Skipped";
                    }[];
                }[];
                /**
                 * @description CarriedApproval is the approval of a plan that does the same, in a pull request or in the stage before of a
                 *     Pipeline. Cairn writes it, and it counts like spec.approval for the plan that it names. Unset if there is none.
                 */
                carriedApproval?: {
                    /**
                     * Format: date-time
                     * @description At is when Cairn read the approval.
                     */
                    at: string;
                    /** @description By is the user who approved, as the name of a user for RBAC. Example: gitea:git.example.com:bob. */
                    by: string;
                    /** @description PlanDigest is status.plan.digest of the plan for which it counts. */
                    planDigest: string;
                    /** @description PullRequest is the PullRequest in which the user approved. Unset if it was in a stage. */
                    pullRequest?: {
                        /** @description Name of the PullRequest. */
                        name: string;
                        /** @description Namespace of the PullRequest. */
                        namespace: string;
                        /**
                         * Format: int64
                         * @description Number of the pull request at the Git provider. Example: 77.
                         */
                        number: number;
                    };
                    /** @description Stage is the stage of a Pipeline in which the user approved. Unset if it was in a pull request. */
                    stage?: {
                        /** @description Name of the stage. */
                        name: string;
                        /** @description Pipeline is the name of the Pipeline, in the namespace of the Run. */
                        pipeline: string;
                        /** @description Release is the commit that the Run applied. */
                        release: string;
                        /** @description Run is the name of the Run whose plan the user approved. Example: net-staging-7. */
                        run: string;
                    };
                };
                /**
                 * @description Conditions are the latest observations of the Run. Succeeded is Unknown until the Run finishes.
                 *     Reconciling is set until the Run finishes. Stalled is set if the Run failed or was canceled.
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
                 * @description FinishedAt is the time when the Run reached its final phase. Unset while the Run is in progress.
                 */
                finishedAt?: string;
                /**
                 * @description Image is the image that Cairn built for this Run, or that an earlier Run built from the same files.
                 *     Unset if the Stack has no spec.runner.build.
                 */
                image?: {
                    /**
                     * @description Digest is the digest of the image in its registry. Unset while the build is in progress. Example:
                     *     sha256:1f3c....
                     */
                    digest?: string;
                    /** @description Key is the digest of everything that the image is built from. */
                    key: string;
                    /** @description Run is the name of the Run that built the image. */
                    run?: string;
                };
                /**
                 * Format: date-time
                 * @description NextAttempt is the time of the next attempt after a transient failure. Unset if no retry is scheduled.
                 */
                nextAttempt?: string;
                /** @description Outputs are the outputs after the apply, without sensitive and long ones. At most 64. */
                outputs?: {
                    [key: string]: unknown;
                };
                /**
                 * @description Phase is the progress of the Run. Unset means Queued.
                 * @enum {string}
                 */
                phase?: "Queued" | "Planning" | "AwaitingApproval" | "Applying" | "Shell" | "Succeeded" | "Failed" | "Canceled" | "Superseded";
                /** @description Plan is the newest plan of the Run. Unset until a plan succeeds. */
                plan?: {
                    /**
                     * Format: int32
                     * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                     */
                    add: number;
                    /**
                     * Format: int32
                     * @description Change is the number of resources to update in place.
                     */
                    change: number;
                    /**
                     * @description Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
                     *     data sources has no changes.
                     */
                    changes: boolean;
                    /**
                     * Format: int32
                     * @description Destroy is the number of resources to destroy. It includes replacements.
                     */
                    destroy: number;
                    /**
                     * @description Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
                     *     other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
                     *     than 8 KiB of them.
                     */
                    differences?: {
                        /**
                         * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                         *     invoke, or refresh if only the state gets what changed outside of Cairn.
                         */
                        action: string;
                        /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                        /**
                         * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                         *     [desired_capacity, "tags[\"owner\"]"].
                         */
                        attributes?: string[];
                    }[];
                    /** @description Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest. */
                    digest: string;
                    /**
                     * @description EngineVersion is the exact version of the engine that created the plan. Only the same version applies
                     *     it. Example: 1.12.6.
                     */
                    engineVersion?: string;
                    /**
                     * @description Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
                     *     outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
                     *     their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
                     *     could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
                     *     5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
                     */
                    fingerprint?: string;
                    /**
                     * Format: int32
                     * @description Forget is the number of resources to remove from the state without destroying them.
                     */
                    forget: number;
                    /**
                     * @description Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
                     *     plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
                     *     it, or if the node reports no digest of the image. Example:
                     *     ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
                     */
                    image?: string;
                    /**
                     * Format: int32
                     * @description Import is the number of resources to import into the state.
                     */
                    import: number;
                    /**
                     * Format: int32
                     * @description Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
                     *     function. An action is no resource: no other number includes it.
                     */
                    invoke?: number;
                    /**
                     * Format: int32
                     * @description MoreOutputs is the number of outputs that change and are not in outputs.
                     */
                    moreOutputs?: number;
                    /**
                     * @description Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
                     *     most 100. Empty if Cairn cannot read the plan file.
                     */
                    outputs?: {
                        /** @description Action is the planned action: create, update or delete. */
                        action: string;
                        /** @description Known is true if all of the new value is known before the apply. False for an output that is deleted. */
                        known?: boolean;
                        /** @description Name of the output. Example: vpc. */
                        name: string;
                        /** @description Sensitive is true if the code marks the output as sensitive. */
                        sensitive?: boolean;
                    }[];
                    /**
                     * @description Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
                     *     the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
                     */
                    partial?: string;
                    /** @description Policy is the result of the policies for the plan. Unset if there are no policies. */
                    policy?: {
                        /**
                         * Format: int32
                         * @description ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
                         *     spec.apply is Automatic.
                         */
                        approvalRequired?: number;
                        /**
                         * Format: int32
                         * @description Checked is the number of modules and validations that were evaluated.
                         */
                        checked: number;
                        /**
                         * Format: int32
                         * @description Denied is the number of findings that deny the plan.
                         */
                        denied: number;
                        /**
                         * @description Findings are the findings of the policies: first those that deny the plan, then those that require an
                         *     approval, then warnings. At most 50; the counts include all findings.
                         */
                        findings?: {
                            /**
                             * @description Action is the effect of the finding: Deny, RequireApproval or Warn.
                             * @enum {string}
                             */
                            action: "Deny" | "RequireApproval" | "Warn";
                            /** @description Message is the text of the finding. Example: "bucket logs has no tag owner". */
                            message: string;
                            /**
                             * @description Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
                             *     namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
                             */
                            policy: string;
                        }[];
                        /**
                         * Format: int32
                         * @description Warned is the number of findings that are warnings.
                         */
                        warned: number;
                    };
                    /**
                     * Format: int32
                     * @description Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
                     *     values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
                     *     count in forget.
                     */
                    refresh?: number;
                    /**
                     * Format: int32
                     * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                     */
                    replace: number;
                    /**
                     * @description Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
                     *     replace. At most 100; the counts include all.
                     */
                    resources?: {
                        /**
                         * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                         *     invoke, or refresh if only the state gets what changed outside of Cairn.
                         */
                        action: string;
                        /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                    }[];
                    /** @description Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine. */
                    script?: boolean;
                    /**
                     * @description Shape is the same for two plans of this installation that change the same in the same way, with whatever
                     *     values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
                     *     something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
                     */
                    shape?: string;
                    /**
                     * @description StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
                     *     first time or no longer, or a destroy finds that none of its resources exist any more.
                     */
                    stateOnly?: boolean;
                    /**
                     * @description TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
                     *     same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
                     *     of the Stack is Automatic.
                     */
                    takesOverState?: boolean;
                    /**
                     * @description Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
                     *     While this list is not empty, the plan waits for an approval, because applying it may create the
                     *     resources again. At most 100.
                     */
                    untracked?: {
                        /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                        /** @description Reason is why Cairn could not import the resource into the state. */
                        reason: string;
                    }[];
                    /**
                     * @description Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
                     *     other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
                     *     can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
                     */
                    unverified?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
                     *     plan. Unset for other engines.
                     */
                    wrapped?: {
                        /**
                         * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                         *     only Terraform. Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                         *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                         *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                         *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                         *     any version is used. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description Requirements are those of spec.requirements, as Cairn evaluated them when the apply would start. As long as one
                 *     is not met, nothing is applied. Unset before.
                 */
                requirements?: {
                    /**
                     * Format: date-time
                     * @description At is when Cairn evaluated them. Met counts for a minute.
                     */
                    at: string;
                    /** @description PlanDigest is status.plan.digest of the plan for which they count. */
                    planDigest: string;
                    /** @description Results has each requirement with its state. */
                    results: {
                        /** @description Message is what is missing, and who can act, at most 500 bytes. Unset if it is met. */
                        message?: string;
                        /** @description Stacks are those that it keeps back, as namespace/name. Empty for all. */
                        stacks?: string[];
                        /**
                         * @description State is Met, Missing or Unknown.
                         * @enum {string}
                         */
                        state: "Met" | "Missing" | "Unknown";
                        /**
                         * @description Type is the requirement.
                         * @enum {string}
                         */
                        type: "Approved" | "Mergeable" | "Undiverged";
                    }[];
                };
                /**
                 * Format: int32
                 * @description Retries is the number of attempts that followed a failed attempt.
                 */
                retries?: number;
                /**
                 * Format: date-time
                 * @description WindowOpensAt is when the window opens that the Run waits for. Unset if it waits for none, or if none opens
                 *     within a year.
                 */
                windowOpensAt?: string;
            };
        };
        /**
         * @description StackGrant allows Stacks of other namespaces to depend on Stacks of its own namespace and to use their outputs, or
         *     StackSets of other namespaces to create and change Stacks in it. It has no status. A deletion withdraws it: Runs in
         *     progress continue, and no new ones start; the Stacks of a StackSet stay as they are.
         */
        StackGrant: {
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
            /** @description Spec declares who can use which Stacks. */
            spec: {
                /**
                 * @description From lists the kinds and namespaces of the objects that can use the Stacks. At most 50. Example: [{kind: Stack,
                 *     namespace: shop}].
                 */
                from: {
                    /**
                     * @description Kind is the kind of the objects. Stack: they can depend on the Stacks and use their outputs. StackSet: they can
                     *     create, change, suspend and delete the Stacks.
                     * @enum {string}
                     */
                    kind: "Stack" | "StackSet";
                    /** @description Namespace is the namespace of the objects. Example: shop. */
                    namespace: string;
                }[];
                /**
                 * @description Stacks are the names of the Stacks in the namespace of the StackGrant, which may not exist yet. At most 100.
                 *     Default: all Stacks of the namespace. Example: [net].
                 */
                stacks?: string[];
            };
        };
        /**
         * @description StackPolicy has windows and policies for all Stacks of its namespace that have certain labels. They are in addition
         *     to those of the Stacks themselves, so a StackPolicy can only restrict.
         */
        StackPolicy: {
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
            /** @description Spec declares the restrictions and the Stacks that they apply to. */
            spec: {
                /**
                 * @description Policies are evaluated for each plan with changes, in addition to those of spec.policies of the Stack. The
                 *     ConfigMaps are in the namespace of the StackPolicy. A change plans each selected Stack. At most 20. Example:
                 *     [{configMap: {name: rules}}].
                 */
                policies?: {
                    /** @description ConfigMap is a ConfigMap in the namespace of the Stack. */
                    configMap: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description StackSelector selects Stacks of the namespace by their labels. {} selects all of them. Example: {matchLabels:
                 *     {env: prod}}.
                 */
                stackSelector: {
                    /** @description matchExpressions is a list of label selector requirements. The requirements are ANDed. */
                    matchExpressions?: {
                        /** @description key is the label key that the selector applies to. */
                        key: string;
                        /**
                         * @description operator represents a key's relationship to a set of values.
                         *     Valid operators are In, NotIn, Exists and DoesNotExist.
                         */
                        operator: string;
                        /**
                         * @description values is an array of string values. If the operator is In or NotIn,
                         *     the values array must be non-empty. If the operator is Exists or DoesNotExist,
                         *     the values array must be empty. This array is replaced during a strategic
                         *     merge patch.
                         */
                        values?: string[];
                    }[];
                    /**
                     * @description matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels
                     *     map is equivalent to an element of matchExpressions, whose key field is "key", the
                     *     operator is "In", and the values array contains only "value". The requirements are ANDed.
                     */
                    matchLabels?: {
                        [key: string]: string;
                    };
                };
                /**
                 * @description Windows are time spans in which plans, applies and destroys can, or cannot, start, as in spec.windows of a Stack.
                 *     An operation starts only when the windows of the Stack, and those of each StackPolicy that selects it, allow it.
                 *     At most
                 *     20. Example: [{kind: Deny, schedule: "0 0 20 12 *", duration: 336h}].
                 */
                windows?: {
                    /** @description Duration is how long the window stays open, at most 8760h. Example: 4h. */
                    duration: string;
                    /**
                     * @description Kind is Allow or Deny. With Allow, the operations start only inside the window. With Deny, they do not
                     *     start inside it.
                     * @enum {string}
                     */
                    kind: "Allow" | "Deny";
                    /**
                     * @description Operations are the operations that the window applies to. Plan is the start of any Run. Apply and
                     *     Destroy are the start of the apply after a plan. Default: [Apply, Destroy].
                     */
                    operations?: ("Apply" | "Plan" | "Destroy" | "Shell")[];
                    /**
                     * @description Schedule is the time when the window opens, in cron format: minute, hour, day of month, month, day of
                     *     week. Example: "0 18 * * 5", every Friday at 18:00.
                     */
                    schedule: string;
                    /** @description TimeZone is the IANA time zone of the schedule. Default: UTC. Example: Europe/Berlin. */
                    timeZone?: string;
                }[];
            };
        };
        /**
         * @description Stack is a root module with its variables and its state. Cairn plans every change of a Stack, waits for an
         *     approval if required, and applies exactly the approved plan. When a Stack is deleted, Cairn destroys its
         *     resources.
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
            /** @description Spec declares the code and the variables of the Stack, and how Cairn applies changes. */
            spec: {
                /**
                 * @description Apply is what happens after a plan with changes. With Manual, the plan waits until a user approves it;
                 *     this includes destroys. With Automatic, Cairn applies the plan immediately, unless requireApprovalFor,
                 *     preventSelfApproval or a policy requires an approval. With Never, Cairn only reports the plan. Default:
                 *     Manual.
                 * @default Manual
                 * @enum {string}
                 */
                apply: "Manual" | "Automatic" | "Never";
                /**
                 * @description Backend is the backend of the engine that stores the state. If unset, Cairn stores the state. Example:
                 *     {fromCode: true}.
                 */
                backend?: {
                    /**
                     * @description Config contains the arguments of the backend block, each of any JSON type. The Stack stores them in
                     *     plain text: use configFrom for secrets. At most 100. Example: {bucket: states, key: net.tfstate, region:
                     *     eu-west-1}.
                     */
                    config?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description ConfigFrom lists Secrets in the namespace of the Stack. Each key of a Secret is an argument of the
                     *     backend. These arguments take precedence over config, and later Secrets over earlier ones. Credentials
                     *     can also be set with env and envFrom. At most 20. Example: [{secret: {name: net-backend}}].
                     */
                    configFrom?: {
                        /** @description Secret is a Secret in the namespace of the Stack. Its values never appear in logs or status. */
                        secret: {
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                    }[];
                    /**
                     * @description Create creates the storage of the backend if it does not exist: the bucket, with versioning and
                     *     encryption, and the lock table. Cairn never changes or deletes existing storage. Supported for type s3
                     *     only. Default: false.
                     */
                    create?: boolean;
                    /**
                     * @description FromCode uses the backend block of the code. If type is also set, type and config apply to code without
                     *     a block. They also complete a block of the same type that lacks required arguments; arguments in the
                     *     block take precedence. Cairn uses a block of another type unchanged. With Terragrunt, type and fromCode
                     *     cannot be combined. Default: false, which replaces the block of the code.
                     */
                    fromCode?: boolean;
                    /**
                     * @description Type is the type of the backend, as in a backend block. The types local, remote and cloud are rejected.
                     *     Required unless fromCode is true. Example: s3.
                     */
                    type?: string;
                };
                /** @description Commands are scripts that replace the apply of the engine. If unset, the engine applies. */
                commands?: {
                    /** @description Apply replaces the apply of a plan of an Apply Run. If unset, the engine applies the plan. */
                    apply?: {
                        /** @description ConfigMap is a key of a ConfigMap in the namespace of the Stack that contains the script. */
                        configMap?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /** @description Script is the text of the script. At most 64 KiB. */
                        script?: string;
                    };
                    /**
                     * @description Destroy replaces the apply of a plan that destroys everything. A deleted Stack is removed only once its
                     *     state is empty, whatever the exit code of the script. If unset, the engine applies the plan.
                     */
                    destroy?: {
                        /** @description ConfigMap is a key of a ConfigMap in the namespace of the Stack that contains the script. */
                        configMap?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /** @description Script is the text of the script. At most 64 KiB. */
                        script?: string;
                    };
                };
                /**
                 * @description DeletionPolicy is what happens when the Stack is deleted. With Destroy, Cairn first destroys the
                 *     resources, with the inputs of the last apply. With Orphan, the resources and the State remain. With
                 *     Protect, the API server denies the deletion. When the Stack is deleted, Cairn cancels a plan in progress
                 *     and lets an apply in progress finish. Default: Destroy. Example: Protect.
                 * @default Destroy
                 * @enum {string}
                 */
                deletionPolicy: "Destroy" | "Orphan" | "Protect";
                /**
                 * @description DependsOn lists Stacks that Cairn applies before it plans this one, and destroys after it. Each name can occur
                 *     once. At most 50. Example: [{name: net}].
                 */
                dependsOn?: {
                    /** @description Name is the name of the Stack. */
                    name: string;
                    /**
                     * @description Namespace is the namespace of the Stack. Another one than that of this Stack requires a StackGrant there.
                     *     Default: the namespace of this Stack. Example: network.
                     */
                    namespace?: string;
                }[];
                /**
                 * @description Drift configures how often Cairn checks for drift, and what happens when it detects drift. If unset,
                 *     Cairn checks at the default interval of the installation and reports drift. Example: {interval: 1h,
                 *     onDrift: Apply}.
                 */
                drift?: {
                    /**
                     * @description ApplyFor limits onDrift: Apply to drift that has no other kinds of change than these. Cairn reports other drift
                     *     and corrects nothing of it, also if only a part of it is of another kind, is ignored, or is not in
                     *     status.drift.differences. If the plan of the Run that corrects drift has another kind of change, it waits for an
                     *     approval. A replacement counts as Replace alone. A resource that the Run only removes from the state counts as
                     *     Delete. Changes of outputs and moves do not count. At most 5. Default: empty, all kinds. Example: [Update].
                     */
                    applyFor?: ("Create" | "Update" | "Replace" | "Delete" | "Action" | "StackDeletion")[];
                    /**
                     * @description Ignore lists differences that do not count as drift. A check that finds no others does not set the condition
                     *     Drifted. What is ignored is listed in status.drift.differences, and does not change plans: an apply corrects it
                     *     with all else. At most 50. Example: [{addresses: ["aws_autoscaling_group.*"], attributes: [desired_capacity],
                     *     reason: set by the autoscaler}].
                     */
                    ignore?: {
                        /**
                         * @description Addresses are the resources, or the outputs as in output.NAME, whose differences are ignored. A * stands for any
                         *     characters, also dots. From 1 to 20. Example: ["module.web[*].aws_instance.*"].
                         */
                        addresses: string[];
                        /**
                         * @description Attributes limit the entry to updates in place that change nothing but these attributes and what is in them, with
                         *     the paths that the plan shows. A * stands for any characters. If unset, all changes of the resources are ignored,
                         *     also that they are deleted. At most 50. Example: [desired_capacity, "tags[\"owner\"]"].
                         */
                        attributes?: string[];
                        /** @description Reason is why the differences are ignored, for users. At most 300 characters. Example: set by the autoscaler. */
                        reason: string;
                        /**
                         * Format: date-time
                         * @description Until is the time from which the differences count again. If unset, the entry does not end. Example:
                         *     "2027-01-31T00:00:00Z".
                         */
                        until?: string;
                    }[];
                    /**
                     * @description Interval is the time between two drift checks, at least 10s and at most 8760h. 0s disables the drift
                     *     checks of this Stack. Cairn distributes the checks of all Stacks evenly over the interval. Default: the
                     *     interval of the installation (chart value drift.interval), which is 12h unless an administrator changes
                     *     it. Example: 1h.
                     */
                    interval?: string;
                    /**
                     * @description OnDrift is what happens when a check detects drift. Report sets the condition Drifted. Apply also starts
                     *     a Run that restores the declared configuration. That Run waits for an approval like any other
                     *     (spec.apply, spec.requireApprovalFor). Default: Report.
                     * @default Report
                     * @enum {string}
                     */
                    onDrift: "Report" | "Apply";
                };
                /**
                 * @description Engine is the engine that plans and applies the code. Fields that are unset are taken from spec.engine
                 *     of the Repository, if the code is from git. status.engine reports the result. Default: OpenTofu.
                 *     Example: {name: Terraform, version: "~> 1.9"}.
                 * @default {}
                 */
                engine: {
                    /**
                     * @description Name is the engine: OpenTofu, Terraform or Terragrunt. Default: spec.engine.name of the Repository,
                     *     otherwise OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                     *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                     *     code decides: the nearest .opentofu-version, .terraform-version or .terragrunt-version file in the
                     *     directory of the root module or a parent, otherwise required_version. If the code does not decide
                     *     either, any version is used. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs. Only allowed with name: Terragrunt. Default: OpenTofu, or
                     *     Terraform if the runner image contains only Terraform, in a version that the code accepts. Example:
                     *     {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                         *     only Terraform. Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                         *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                         *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                         *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                         *     any version is used. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description Env are environment variables of the engine and its providers. Values from Secrets never appear in logs.
                 *     As in a pod, $(NAME) in a value is replaced by the variable NAME, and $$ by $: write $$$$ for $$, or use
                 *     valueFrom, whose values stay as they are. Names that start with CAIRN_ are reserved and rejected, and so are
                 *     resourceFieldRef and fileKeyRef. The engine does not get variables that change what it does, such as TF_CLI_ARGS:
                 *     the condition EnvironmentIgnored names them. At most 200.
                 *     Example: [{name: AWS_REGION, value: eu-west-1}].
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
                /**
                 * @description EnvFrom adds every key of a Secret or ConfigMap as an environment variable. Variables of env take
                 *     precedence. At most 50. Example: [{secretRef: {name: aws}}].
                 */
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
                /** @description Hooks are scripts that run in the pod before or after a step, in the order of this list. At most 50. */
                hooks?: {
                    /** @description ConfigMap is a key of a ConfigMap in the namespace of the Stack that contains the script. */
                    configMap?: {
                        /** @description Key is the key within data of the object. */
                        key: string;
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                    /**
                     * @description OnFailure is what happens when the hook fails. Fail ends the attempt. Continue reports the failure of
                     *     the hook and continues with the attempt. Default: Fail.
                     * @enum {string}
                     */
                    onFailure?: "Fail" | "Continue";
                    /** @description Script is the text of the script. At most 64 KiB. Exactly one of script and configMap must be set. */
                    script?: string;
                    /**
                     * @description Step is the step that the hook belongs to: fetch, engine, init, plan, policy, apply or outputs.
                     * @enum {string}
                     */
                    step: "fetch" | "engine" | "init" | "plan" | "policy" | "apply" | "outputs";
                    /**
                     * @description When is the time at which the hook runs: Before or After the step. An After hook runs only if the step
                     *     succeeds.
                     * @enum {string}
                     */
                    when: "Before" | "After";
                }[];
                /**
                 * @description ModuleCredentials are credentials for modules that the engine fetches with git (source = "git::..."),
                 *     each for one host. At most 20. Example: [{host: git.example.com, secret: {name: modules-git}}].
                 */
                moduleCredentials?: {
                    /**
                     * @description Host is the host, with the port if it is not the default. Git sends the credentials to no other host.
                     *     Example: git.example.com.
                     */
                    host: string;
                    /**
                     * @description Secret is a Secret in the namespace of the Stack with the keys that spec.credentials of a Repository has,
                     *     except those of a GitHub App: username and password, or bearerToken; identity and known_hosts for SSH;
                     *     ca.crt. It can have keys for HTTPS and for SSH. Cairn rejects other keys.
                     */
                    secret: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description Outputs names the objects to which Cairn writes the outputs of the code. If unset, Cairn writes no
                 *     objects. Example: {secret: {name: net-outputs}}.
                 */
                outputs?: {
                    /** @description ConfigMap receives the outputs that are not sensitive. */
                    configMap?: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                    /** @description Secret receives all outputs, including sensitive ones. */
                    secret?: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                };
                /**
                 * @description Policies are evaluated for each plan with changes, before an approval is requested. The installation can
                 *     require additional policies. At most 20. Example: [{configMap: {name: rules}}].
                 */
                policies?: {
                    /** @description ConfigMap is a ConfigMap in the namespace of the Stack. */
                    configMap: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description PreventSelfApproval rejects an approval by each user who caused a part of the change since the last apply:
                 *     who requested the Run, changed the Stack, its Repository or its state, or wrote a commit. It requires an
                 *     approval for every plan with changes, even if apply is Automatic. If not all of these users are known, an
                 *     approval requires a Run that another user requested. If no user caused the change, as with drift or a
                 *     changed Secret, any user with the verb approve can approve. The State keeps the rule when a user removes it,
                 *     until another user approves a plan that is then applied. Default: false. Example: true.
                 */
                preventSelfApproval?: boolean;
                /**
                 * @description PullRequests configures the plans of the Stack for pull requests, if the Repository has spec.pullRequests. If
                 *     unset, they run without the ServiceAccount, the environment and the pod template of the Stack. They never have
                 *     its backend.
                 */
                pullRequests?: {
                    /**
                     * @description Runner is the identity of pods that plan pull requests. Default: spec.pullRequests.runner of the Repository, if
                     *     the Stack is in the same namespace; otherwise the ServiceAccount default and no environment variables.
                     */
                    runner?: {
                        /**
                         * @description Env are environment variables of the engine, in place of spec.env of the Stack. Names that start with CAIRN_ are
                         *     reserved and rejected, and so are resourceFieldRef and fileKeyRef. At most 200.
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
                        /**
                         * @description EnvFrom are Secrets and ConfigMaps with environment variables of the engine, in place of spec.envFrom of the
                         *     Stack. At most 50.
                         */
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
                        /** @description ServiceAccountName is the ServiceAccount of the pod, in the namespace of the Stack. Default: default. */
                        serviceAccountName?: string;
                    };
                    /**
                     * @description UseStackCredentials plans pull requests with spec.runner, spec.env and spec.envFrom of the Stack, as its own Runs
                     *     are planned, but without spec.backend. Each user who can open a pull request in the repository can then use these
                     *     credentials. Default: false.
                     */
                    useStackCredentials?: boolean;
                };
                /**
                 * @description RequireApprovalFor lists kinds of change that require an approval even if apply is Automatic. If a plan
                 *     contains at least one of them, the whole plan waits, including a plan that corrects drift. The list has
                 *     no effect if apply is Manual or Never. At most 6. Default: empty, no kind of change requires an
                 *     approval. Example: [Delete], which requires an approval before anything is destroyed.
                 */
                requireApprovalFor?: ("Create" | "Update" | "Replace" | "Delete" | "Action" | "StackDeletion")[];
                /**
                 * @description Retry configures how often Cairn retries a Run after a transient failure. Each retry plans again.
                 *     Default: {limit: 3, backoff: 15s, maxBackoff: 10m}.
                 * @default {}
                 */
                retry: {
                    /**
                     * @description Backoff is the delay before the first retry. It doubles with each further retry. At most 8760h. Default:
                     *     15s.
                     * @default 15s
                     */
                    backoff: string;
                    /**
                     * Format: int32
                     * @description Limit is the maximum number of retries after the first attempt. 0 disables retries. At most 100.
                     *     Default: 3.
                     * @default 3
                     */
                    limit: number;
                    /**
                     * @description MaxBackoff is the maximum delay between two attempts. After limit retries, a failed destroy of a deleted
                     *     Stack is started again at this interval. At most 8760h. Default: 10m.
                     * @default 10m
                     */
                    maxBackoff: string;
                };
                /**
                 * Format: int32
                 * @description RunHistoryLimit is the number of finished Runs to keep, from 0 to 100. Older Runs are deleted with their
                 *     plans and logs. Runs that the status of the Stack refers to are always kept. Of drift checks, only the
                 *     newest is kept, and it does not count. Default: 10. Example: 3.
                 * @default 10
                 */
                runHistoryLimit: number;
                /**
                 * @description Runner configures the pods that run the engine. If unset, they use the defaults of the installation.
                 * @default {}
                 */
                runner: {
                    /**
                     * @description Build builds the image in the cluster from a Dockerfile of the source. Cannot be combined with image. If
                     *     unset, Cairn builds no image.
                     */
                    build?: {
                        /**
                         * @description Args are values of ARG instructions of the Dockerfile. They are visible in the history of the image: do
                         *     not use secrets. At most 50. Example: [{name: VERSION, value: "1.2"}].
                         */
                        args?: {
                            /** @description Name is the name of the ARG. */
                            name: string;
                            /** @description Value is the value of the ARG. Default: empty. */
                            value?: string;
                        }[];
                        /**
                         * @description Builder is the program that builds the image: Buildah, BuildKit or Kaniko. Default: Buildah.
                         * @default Buildah
                         * @enum {string}
                         */
                        builder: "Buildah" | "BuildKit" | "Kaniko";
                        /**
                         * @description BuilderImage is the image that contains the builder. Default: the image that the installation configures
                         *     for this builder (chart value runner.build.images).
                         */
                        builderImage?: string;
                        /**
                         * @description Cache is an image repository in which the builder caches layers between builds. If unset, layers are not
                         *     cached. Example: registry.example.com/acme/terraform-cache.
                         */
                        cache?: string;
                        /**
                         * @description Context is the directory that the Dockerfile can copy files from, as a path from the root of the
                         *     repository. A change of any file in it triggers a build, so use a small directory. "." is the whole
                         *     repository. Default: the directory of the Dockerfile.
                         */
                        context?: string;
                        /**
                         * @description Dockerfile is the path of the Dockerfile from the root of the repository. For code from a ConfigMap or
                         *     inline, it is a file name. Default: Dockerfile. Example: images/terraform/Dockerfile.
                         * @default Dockerfile
                         */
                        dockerfile: string;
                        /**
                         * @description Image is the image repository to push to, without tag and digest. Runs use the pushed image by its
                         *     digest. Example: registry.example.com/acme/terraform.
                         */
                        image: string;
                        /** @description Insecure allows a registry without TLS or with a certificate that is not trusted. Default: false. */
                        insecure?: boolean;
                        /**
                         * @description Optional skips the build if the code has no such Dockerfile. The Stack then uses the default image of
                         *     the installation. Default: false, the Stack waits with reason DockerfileNotFound.
                         */
                        optional?: boolean;
                        /**
                         * @description PushSecret is a Secret of type kubernetes.io/dockerconfigjson in the namespace of the Stack. The builder
                         *     pulls and pushes with it, and the kubelet pulls the built image with it. The pod of the engine has no
                         *     access to it. If unset, the builder uses no credentials.
                         */
                        pushSecret?: {
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /** @description Target is the stage of the Dockerfile to build. Default: the last stage. */
                        target?: string;
                    };
                    /**
                     * @description IdleTimeout is how long the pod of a plan waits for an approval before it exits. Cairn applies a plan
                     *     that is approved within this time in the same pod, and a later one in a new pod. 0s exits immediately.
                     *     At most 8760h. Default: 30s. Example: 10m.
                     * @default 30s
                     */
                    idleTimeout: string;
                    /**
                     * @description Image is the container image that runs the engine. It must contain every program that the code and the
                     *     hooks call. Cairn copies its runner into the container and downloads the engine if the image does not
                     *     contain it. Default: the image that the installation configures (chart value runner.image). Example:
                     *     registry.example.com/acme/terraform:1.2.
                     */
                    image?: string;
                    /**
                     * @description Resources are the compute resources of the container that runs the engine. Default: requests of 100m CPU
                     *     and 256Mi memory, no limits.
                     */
                    resources?: {
                        /**
                         * @description Limits are the maximum resources that the container can use. If unset, there are no limits. Example:
                         *     {memory: 2Gi}.
                         */
                        limits?: {
                            [key: string]: number | string;
                        };
                        /** @description Requests are the resources that the container is guaranteed. Example: {cpu: 500m, memory: 1Gi}. */
                        requests?: {
                            [key: string]: number | string;
                        };
                    };
                    /**
                     * @description ServiceAccountName is the name of the ServiceAccount of the pod, in the namespace of the Stack. Use it
                     *     to grant access to a cloud with workload identity. The ServiceAccount needs no Kubernetes permissions.
                     *     Default: default.
                     */
                    serviceAccountName?: string;
                    /**
                     * @description Template is a strategic merge patch for the pod, of kind PodTemplate. It can set labels, annotations,
                     *     nodeSelector, tolerations, affinity, volumes, imagePullSecrets, dnsConfig and init containers (with
                     *     restartPolicy: Always as sidecars). It can also set env, volumeMounts and securityContext of the
                     *     container engine. Cairn rejects unknown fields and fields that it manages itself: see
                     *     docs/how-to/pod-templates.md. The pod must meet the Pod Security Standard "restricted" unless the installation
                     *     allows more. At most 64 KiB. Example: {spec: {nodeSelector: {pool: runners}}}.
                     */
                    template?: Record<string, never>;
                };
                /**
                 * @description Source specifies where the code comes from. Exactly one of git, configMap and inline must be set.
                 *     Example: {git: {repository: {name: infra}, path: envs/prod}}.
                 */
                source: {
                    /**
                     * @description ConfigMap is a ConfigMap in the namespace of the Stack. Each key of data and binaryData is a file of the
                     *     root module. Example: {name: net-code}.
                     */
                    configMap?: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                    /** @description Git is a directory of a Repository. Example: {repository: {name: infra}, path: envs/prod/network}. */
                    git?: {
                        /**
                         * @description Path is the directory of the root module, relative to the root of the repository. It must not start with
                         *     / or contain "..". Default: the root of the repository. Example: envs/prod/network.
                         */
                        path?: string;
                        /** @description Ref is a branch, a tag or a commit. Default: spec.ref of the Repository. Example: main. */
                        ref?: string;
                        /** @description Repository is the Repository that contains the code. */
                        repository: {
                            /** @description Name is the name of the Repository. */
                            name: string;
                            /**
                             * @description Namespace is the namespace of the Repository. Its spec.allowedNamespaces must include the namespace of
                             *     the Stack. Default: the namespace of the Stack.
                             */
                            namespace?: string;
                        };
                        /**
                         * @description Triggers are glob patterns of additional files of the repository that belong to the Stack; ** matches
                         *     any number of directories. The files are available in the pod, and a commit that changes one of them
                         *     starts a Run. The directory, local modules and files that the code references by path need no trigger.
                         *     At most 50. Default: empty. Example: ["policies/**"].
                         */
                        triggers?: string[];
                    };
                    /**
                     * @description Inline contains the files of the root module: each key is a path relative to the root module, each value
                     *     the text of the file. At most 200 files. Example: {"main.tf": "..."}.
                     */
                    inline?: {
                        [key: string]: string;
                    };
                };
                /**
                 * @description Suspend stops Cairn from starting Runs of this Stack, including the destroy of a deleted Stack.
                 *     Operations in progress continue. Default: false.
                 */
                suspend?: boolean;
                /**
                 * @description Timeout is the maximum duration of one attempt of a plan or an apply, at most 8760h. After that time,
                 *     Cairn interrupts the engine, which saves its state. The attempt then fails with a transient failure.
                 *     Default: 1h. Example: 30m.
                 * @default 1h
                 */
                timeout: string;
                /**
                 * @description VariableFiles are Secrets, ConfigMaps or files of the source that contain variable files (*.tfvars and
                 *     *.tfvars.json). The engine loads them in the order of this list and, within one object, in key order;
                 *     later files take precedence. Other keys of the objects are ignored. At most 50. Example: [{secret:
                 *     {name: net-tfvars}}].
                 */
                variableFiles?: {
                    /** @description ConfigMap is a ConfigMap in the namespace of the Stack. */
                    configMap?: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                    /**
                     * @description Path is the path of a *.tfvars or *.tfvars.json file of the source: from the root of the repository for
                     *     git, otherwise next to the code. The engine loads terraform.tfvars and *.auto.tfvars automatically, so
                     *     they need no entry. Example: envs/prod.tfvars.
                     */
                    path?: string;
                    /** @description Secret is a Secret in the namespace of the Stack. Its values never appear in logs or status. */
                    secret?: {
                        /** @description Name is the name of the object. */
                        name: string;
                    };
                }[];
                /**
                 * @description Variables are the values of input variables of the code. Each name can occur once; the order does not
                 *     matter. They take precedence over variableFiles. With server-side apply, several field managers can each
                 *     own some entries. A name that the code does not declare fails the plan. At most 500. Example: [{name:
                 *     servers, value: 3}].
                 */
                variables?: {
                    /** @description Name is the name of the variable as the code declares it. */
                    name: string;
                    /**
                     * @description Value is the value of the variable, of any JSON type. The Stack stores it in plain text: use valueFrom
                     *     for secrets. Examples: 3, "eu-west-1", {zones: [a, b]}.
                     */
                    value?: unknown;
                    /**
                     * @description ValueFrom is the source of the value. Keys of Secrets and ConfigMaps are strings; outputs of Stacks keep
                     *     their type.
                     */
                    valueFrom?: {
                        /** @description ConfigMap is a key of a ConfigMap in the namespace of the Stack. Example: {name: settings, key: region}. */
                        configMap?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /**
                         * @description Secret is a key of a Secret in the namespace of the Stack. The value never appears in logs or status.
                         *     Example: {name: db, key: password}.
                         */
                        secret?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /**
                         * @description Stack is an output of another Stack. The other Stack becomes a dependency, as in dependsOn. A change of
                         *     this output starts a Run; changes of other outputs do not. Sensitive outputs stay sensitive. Example:
                         *     {name: net, output: vpc_id}.
                         */
                        stack?: {
                            /** @description Name is the name of the Stack. */
                            name: string;
                            /**
                             * @description Namespace is the namespace of the Stack. Another one than that of this Stack requires a StackGrant there.
                             *     Default: the namespace of this Stack. Example: network.
                             */
                            namespace?: string;
                            /** @description Output is the name of the output in the code of that Stack. */
                            output: string;
                        };
                    };
                }[];
                /**
                 * @description Windows are time spans in which plans, applies and destroys can, or cannot, start. Operations in
                 *     progress continue when a window closes. Deny takes precedence over Allow. If there is an Allow window
                 *     for an operation, it starts only inside such a window. At most 20. Default: empty, operations start at
                 *     any time.
                 */
                windows?: {
                    /** @description Duration is how long the window stays open, at most 8760h. Example: 4h. */
                    duration: string;
                    /**
                     * @description Kind is Allow or Deny. With Allow, the operations start only inside the window. With Deny, they do not
                     *     start inside it.
                     * @enum {string}
                     */
                    kind: "Allow" | "Deny";
                    /**
                     * @description Operations are the operations that the window applies to. Plan is the start of any Run. Apply and
                     *     Destroy are the start of the apply after a plan. Default: [Apply, Destroy].
                     */
                    operations?: ("Apply" | "Plan" | "Destroy" | "Shell")[];
                    /**
                     * @description Schedule is the time when the window opens, in cron format: minute, hour, day of month, month, day of
                     *     week. Example: "0 18 * * 5", every Friday at 18:00.
                     */
                    schedule: string;
                    /** @description TimeZone is the IANA time zone of the schedule. Default: UTC. Example: Europe/Berlin. */
                    timeZone?: string;
                }[];
                /**
                 * @description Workspace is the workspace of the engine: the value of terraform.workspace in the code and, with backend, the
                 *     workspace whose state the engine uses there. A Stack has one workspace. Default: default. Example: prod.
                 */
                workspace?: string;
            };
            /**
             * @description Status reports the observed state of the Stack. observedGeneration is -1 until an operator reconciles
             *     the Stack.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /** @description AppliedImage is the image of the last apply. A destroy uses it. */
                appliedImage?: {
                    /**
                     * @description Digest is the digest of the image in its registry. Unset while the build is in progress. Example:
                     *     sha256:1f3c....
                     */
                    digest?: string;
                    /** @description Key is the digest of everything that the image is built from. */
                    key: string;
                    /** @description Run is the name of the Run that built the image. */
                    run?: string;
                };
                /**
                 * @description AppliedInputsDigest is the digest of the inputs that were last applied or needed no change. Example:
                 *     sha256:1f3c....
                 */
                appliedInputsDigest?: string;
                /**
                 * @description Conditions are the latest observations of the Stack. Ready is always set. Ready is True if the declared
                 *     inputs are applied, no drift is detected and nothing failed. Drifted, UntrackedResources,
                 *     WholeRepository and EnvironmentIgnored are set only while true. Stalled is set only while a user must act.
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
                /** @description CurrentRun is the name of the Run in progress. Unset if no Run is in progress. Example: net-7. */
                currentRun?: string;
                /**
                 * @description DestroyedByRun is the name of the Run that destroyed all resources on request of a user. While it is
                 *     set, Cairn creates no resources until a user requests an apply. Example: net-8.
                 */
                destroyedByRun?: string;
                /** @description Drift is the result of the last successful drift check. Unset before the first one. */
                drift?: {
                    /**
                     * Format: int32
                     * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                     */
                    add: number;
                    /**
                     * Format: int32
                     * @description Change is the number of resources to update in place.
                     */
                    change: number;
                    /**
                     * Format: date-time
                     * @description CheckedAt is the time of the last drift check.
                     */
                    checkedAt: string;
                    /**
                     * @description CheckedBy is the name of the Run that planned the applied inputs, since they were applied, without options and
                     *     without changing anything. Unset after an apply until then. Example: net-9.
                     */
                    checkedBy?: string;
                    /**
                     * Format: int32
                     * @description Destroy is the number of resources to destroy. It includes replacements.
                     */
                    destroy: number;
                    /**
                     * @description Differences are all changes of the plan of the Run, those that are ignored among them. Unset if not all are
                     *     known; then none is ignored. At most 100.
                     */
                    differences?: {
                        /**
                         * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                         *     invoke, or refresh if only the state gets what changed outside of Cairn.
                         */
                        action: string;
                        /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                        address: string;
                        /**
                         * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                         *     [desired_capacity, "tags[\"owner\"]"].
                         */
                        attributes?: string[];
                        /** @description Ignored is the reason of the entry of spec.drift.ignore that ignores the difference. Unset if it counts as drift. */
                        ignored?: string;
                    }[];
                    /**
                     * Format: int32
                     * @description Ignored is the number of differences that spec.drift.ignore ignores.
                     */
                    ignored?: number;
                    /**
                     * Format: int32
                     * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                     */
                    replace: number;
                    /** @description Run is the name of the Run that found the differences. Unset if there are none. Example: net-9. */
                    run?: string;
                    /**
                     * Format: date-time
                     * @description Since is the time when the drift was first detected. Unset if there is no drift, or if all of it is ignored.
                     */
                    since?: string;
                    /**
                     * @description Starts are the last times at which drift was found where there was none before, newest first. At most 3, and none
                     *     that is more than 24 hours older than the newest.
                     */
                    starts?: {
                        /**
                         * @description CorrectedBy is the name of the Run that corrected it with an apply. Unset while the drift lasts, and if it went
                         *     without an apply. Example: net-10.
                         */
                        correctedBy?: string;
                        /** @description Run is the name of the Run that detected it. Example: net-9. */
                        run?: string;
                        /**
                         * Format: date-time
                         * @description Time is when the drift was first detected.
                         */
                        time: string;
                    }[];
                };
                /**
                 * @description DriftChecks reports the interval of drift checks, where it is configured and when the next check is due.
                 *     Unset if drift checks are disabled.
                 */
                driftChecks?: {
                    /** @description Interval is the time between two drift checks. Example: 12h0m0s. */
                    interval: string;
                    /**
                     * @description IntervalSource is where the interval is configured. Stack: spec.drift.interval of the Stack. Installation: the
                     *     chart value drift.interval.
                     * @enum {string}
                     */
                    intervalSource: "Stack" | "Installation";
                    /**
                     * Format: date-time
                     * @description NextCheckTime is the time when the next check is due. The check can start later, because of a window or a
                     *     concurrency limit. Unset while no check can start: the Stack was never applied, is suspended, or has a
                     *     change to apply first.
                     */
                    nextCheckTime?: string;
                };
                /**
                 * @description EndedHold is a pull request that held the Stack and was not merged, until what it applied is replaced: each plan
                 *     waits for an approval meanwhile. Unset if there is none.
                 */
                endedHold?: {
                    /** @description Head is the commit of the head that was applied last. */
                    head: string;
                    /**
                     * Format: int64
                     * @description Number of the pull request at the Git provider. Example: 12.
                     */
                    number: number;
                    /**
                     * @description Reason is why the hold ended.
                     * @enum {string}
                     */
                    reason: "Merged" | "Closed" | "Unlocked" | "Expired" | "Deleted";
                };
                /**
                 * @description Engine is the engine of the Stack, including what spec.engine of the Repository sets. Unset if the
                 *     Repository sets nothing. It does not contain versions that the code requires: status.plan of each Run
                 *     reports the version in use.
                 */
                engine?: {
                    /**
                     * @description Name is the engine: OpenTofu, Terraform or Terragrunt. Default: spec.engine.name of the Repository,
                     *     otherwise OpenTofu. Example: Terraform.
                     * @enum {string}
                     */
                    name?: "OpenTofu" | "Terraform" | "Terragrunt";
                    /**
                     * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                     *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                     *     code decides: the nearest .opentofu-version, .terraform-version or .terragrunt-version file in the
                     *     directory of the root module or a parent, otherwise required_version. If the code does not decide
                     *     either, any version is used. Example: "~> 1.12".
                     */
                    version?: string;
                    /**
                     * @description Wrapped is the engine that Terragrunt runs. Only allowed with name: Terragrunt. Default: OpenTofu, or
                     *     Terraform if the runner image contains only Terraform, in a version that the code accepts. Example:
                     *     {name: Terraform, version: "~> 1.9"}.
                     */
                    wrapped?: {
                        /**
                         * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                         *     only Terraform. Example: Terraform.
                         * @enum {string}
                         */
                        name?: "OpenTofu" | "Terraform" | "Terragrunt";
                        /**
                         * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                         *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                         *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                         *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                         *     any version is used. Example: "~> 1.9".
                         */
                        version?: string;
                    };
                };
                /**
                 * @description History contains a summary of the successful Runs that are kept, oldest first. Cairn decides on later
                 *     Runs with it. The Runs themselves contain all details.
                 */
                history?: {
                    /** @description Applied reports whether the Run started an apply. It is false if the plan had no changes. */
                    applied?: boolean;
                    /** @description Cause is the reason why the Run was created. For older Runs it has only the type. */
                    cause: {
                        /**
                         * @description By is the user who caused the Run: the author of the commit, the user who requested the Run or who
                         *     changed the Stack or its Repository. Unset if Cairn does not know the user. Example: alice@example.com.
                         */
                        by?: string;
                        /** @description Message describes the cause. Example: "Secret fleet-tfvars changed". */
                        message?: string;
                        /**
                         * @description Type is the type of the cause: Spec, Variables, Commit, Dependency, Drift, Deletion, Manual or PullRequest.
                         * @enum {string}
                         */
                        type: "Spec" | "Variables" | "VariableSet" | "StackPolicy" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual" | "PullRequest";
                    };
                    /**
                     * @description Details are additional fields that Cairn keeps while a decision needs them. Unset for most Runs, to
                     *     reduce the size of the Stack.
                     */
                    details?: {
                        /** @description InputsDigest is spec.inputsDigest of the Run. Unset for older Runs. Example: sha256:1f3c.... */
                        inputsDigest?: string;
                        /** @description Plan is the plan of the Run without its resources. Unset for older Runs and for Runs without a plan. */
                        plan?: {
                            /**
                             * Format: int32
                             * @description Add is the number of resources to create. It includes replacements, as the engine counts them.
                             */
                            add: number;
                            /**
                             * Format: int32
                             * @description Change is the number of resources to update in place.
                             */
                            change: number;
                            /**
                             * @description Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
                             *     data sources has no changes.
                             */
                            changes: boolean;
                            /**
                             * Format: int32
                             * @description Destroy is the number of resources to destroy. It includes replacements.
                             */
                            destroy: number;
                            /**
                             * @description Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
                             *     other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
                             *     than 8 KiB of them.
                             */
                            differences?: {
                                /**
                                 * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                                 *     invoke, or refresh if only the state gets what changed outside of Cairn.
                                 */
                                action: string;
                                /** @description Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                                /**
                                 * @description Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
                                 *     [desired_capacity, "tags[\"owner\"]"].
                                 */
                                attributes?: string[];
                            }[];
                            /** @description Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest. */
                            digest: string;
                            /**
                             * @description EngineVersion is the exact version of the engine that created the plan. Only the same version applies
                             *     it. Example: 1.12.6.
                             */
                            engineVersion?: string;
                            /**
                             * @description Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
                             *     outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
                             *     their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
                             *     could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
                             *     5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
                             */
                            fingerprint?: string;
                            /**
                             * Format: int32
                             * @description Forget is the number of resources to remove from the state without destroying them.
                             */
                            forget: number;
                            /**
                             * @description Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
                             *     plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
                             *     it, or if the node reports no digest of the image. Example:
                             *     ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
                             */
                            image?: string;
                            /**
                             * Format: int32
                             * @description Import is the number of resources to import into the state.
                             */
                            import: number;
                            /**
                             * Format: int32
                             * @description Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
                             *     function. An action is no resource: no other number includes it.
                             */
                            invoke?: number;
                            /**
                             * Format: int32
                             * @description MoreOutputs is the number of outputs that change and are not in outputs.
                             */
                            moreOutputs?: number;
                            /**
                             * @description Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
                             *     most 100. Empty if Cairn cannot read the plan file.
                             */
                            outputs?: {
                                /** @description Action is the planned action: create, update or delete. */
                                action: string;
                                /** @description Known is true if all of the new value is known before the apply. False for an output that is deleted. */
                                known?: boolean;
                                /** @description Name of the output. Example: vpc. */
                                name: string;
                                /** @description Sensitive is true if the code marks the output as sensitive. */
                                sensitive?: boolean;
                            }[];
                            /**
                             * @description Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
                             *     the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
                             */
                            partial?: string;
                            /** @description Policy is the result of the policies for the plan. Unset if there are no policies. */
                            policy?: {
                                /**
                                 * Format: int32
                                 * @description ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
                                 *     spec.apply is Automatic.
                                 */
                                approvalRequired?: number;
                                /**
                                 * Format: int32
                                 * @description Checked is the number of modules and validations that were evaluated.
                                 */
                                checked: number;
                                /**
                                 * Format: int32
                                 * @description Denied is the number of findings that deny the plan.
                                 */
                                denied: number;
                                /**
                                 * @description Findings are the findings of the policies: first those that deny the plan, then those that require an
                                 *     approval, then warnings. At most 50; the counts include all findings.
                                 */
                                findings?: {
                                    /**
                                     * @description Action is the effect of the finding: Deny, RequireApproval or Warn.
                                     * @enum {string}
                                     */
                                    action: "Deny" | "RequireApproval" | "Warn";
                                    /** @description Message is the text of the finding. Example: "bucket logs has no tag owner". */
                                    message: string;
                                    /**
                                     * @description Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
                                     *     namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
                                     */
                                    policy: string;
                                }[];
                                /**
                                 * Format: int32
                                 * @description Warned is the number of findings that are warnings.
                                 */
                                warned: number;
                            };
                            /**
                             * Format: int32
                             * @description Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
                             *     values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
                             *     count in forget.
                             */
                            refresh?: number;
                            /**
                             * Format: int32
                             * @description Replace is the number of resources to replace. Each is also counted in add and destroy.
                             */
                            replace: number;
                            /**
                             * @description Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
                             *     replace. At most 100; the counts include all.
                             */
                            resources?: {
                                /**
                                 * @description Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
                                 *     invoke, or refresh if only the state gets what changed outside of Cairn.
                                 */
                                action: string;
                                /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                            }[];
                            /** @description Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine. */
                            script?: boolean;
                            /**
                             * @description Shape is the same for two plans of this installation that change the same in the same way, with whatever
                             *     values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
                             *     something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
                             */
                            shape?: string;
                            /**
                             * @description StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
                             *     first time or no longer, or a destroy finds that none of its resources exist any more.
                             */
                            stateOnly?: boolean;
                            /**
                             * @description TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
                             *     same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
                             *     of the Stack is Automatic.
                             */
                            takesOverState?: boolean;
                            /**
                             * @description Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
                             *     While this list is not empty, the plan waits for an approval, because applying it may create the
                             *     resources again. At most 100.
                             */
                            untracked?: {
                                /** @description Address is the address of the resource. Example: module.net.aws_subnet.this["a"]. */
                                address: string;
                                /** @description Reason is why Cairn could not import the resource into the state. */
                                reason: string;
                            }[];
                            /**
                             * @description Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
                             *     other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
                             *     can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
                             */
                            unverified?: string;
                            /**
                             * @description Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
                             *     plan. Unset for other engines.
                             */
                            wrapped?: {
                                /**
                                 * @description Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
                                 *     only Terraform. Example: Terraform.
                                 * @enum {string}
                                 */
                                name?: "OpenTofu" | "Terraform" | "Terragrunt";
                                /**
                                 * @description Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
                                 *     meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
                                 *     code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
                                 *     parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
                                 *     any version is used. Example: "~> 1.9".
                                 */
                                version?: string;
                            };
                        };
                        /** @description Revision is spec.revision of the Run. Unset for older Runs. */
                        revision?: string;
                        /**
                         * @description Steps are the steps whose message matters later, such as a failure to write outputs. Unset for older
                         *     Runs.
                         */
                        steps?: {
                            /**
                             * Format: int32
                             * @description ExitCode is the exit code of the program that the step ran. Unset if the step ran no program or the
                             *     program did not exit.
                             */
                            exitCode?: number;
                            /**
                             * Format: date-time
                             * @description FinishedAt is the time when the step ended. Unset if it did not end.
                             */
                            finishedAt?: string;
                            /** @description Message describes the result of the step in one line. */
                            message?: string;
                            /**
                             * @description Name is the name of the step. A hook is named after its time and step, with a number from the second one
                             *     on. Examples: plan, before-init, after-plan-2.
                             */
                            name: string;
                            /**
                             * Format: date-time
                             * @description StartedAt is the time when the step started. Unset if it did not start.
                             */
                            startedAt?: string;
                            /**
                             * @description State is the progress of the step: Waiting, Running, Succeeded, Failed or Skipped.
                             * @enum {string}
                             */
                            state: "Waiting" | "Running" | "Succeeded" | "Failed" | "Skipped";
                        }[];
                    };
                    /**
                     * Format: date-time
                     * @description FinishedAt is the time when the Run finished.
                     */
                    finishedAt?: string;
                    /** @description Name is the name of the Run. Example: net-7. */
                    name: string;
                    /**
                     * @description Operation is the operation of the Run.
                     * @enum {string}
                     */
                    operation: "Apply" | "Plan" | "Destroy" | "Shell";
                    /** @description UID is the UID of the Run. It distinguishes the Run from another one with the same name. */
                    uid: string;
                }[];
                /**
                 * @description Hold is the pull request whose code the Stack has, since a user applied it before its merge. Unset if there is
                 *     none.
                 */
                hold?: {
                    /** @description Base is the commit of the base that the head is merged into. */
                    base: string;
                    /** @description By is the user who applied it, as the name of a user for RBAC. Example: gitea:git.example.com:bob. */
                    by: string;
                    /**
                     * Format: date-time
                     * @description Deadline is when the hold ends, unless an apply is in progress then. Unset once the pull request is merged: the
                     *     hold ends when the base is fetched.
                     */
                    deadline?: string;
                    /** @description Head is the commit of the head that is applied. A newer head is applied after another command. */
                    head: string;
                    /** @description Name of the PullRequest. */
                    name: string;
                    /** @description Namespace of the PullRequest. */
                    namespace: string;
                    /**
                     * Format: int64
                     * @description Number of the pull request at the Git provider. Example: 12.
                     */
                    number: number;
                    /**
                     * Format: date-time
                     * @description Since is when Cairn read the command.
                     */
                    since: string;
                    /** @description UID of the PullRequest. */
                    uid: string;
                };
                /** @description Image is the newest image that Cairn built for the Stack. Runs use it until its files change. */
                image?: {
                    /**
                     * @description Digest is the digest of the image in its registry. Unset while the build is in progress. Example:
                     *     sha256:1f3c....
                     */
                    digest?: string;
                    /** @description Key is the digest of everything that the image is built from. */
                    key: string;
                    /** @description Run is the name of the Run that built the image. */
                    run?: string;
                };
                /**
                 * @description InputsDigest is the digest of everything that decides the result of a Run: the declared code, values and
                 *     engine. The Stack is up to date when appliedInputsDigest is the same. Example: sha256:1f3c....
                 */
                inputsDigest?: string;
                /**
                 * @description LastHandledRequest is the last request for a Run (annotation cairn.dev/requested-at) that was accepted or
                 *     rejected.
                 */
                lastHandledRequest?: {
                    /**
                     * @description Rejected is true if the request was rejected, for example because its time is in the future. Cairn does not retry
                     *     it; request again with another value. A Repository rejects no request.
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
                /** @description LastRun is the name of the newest Run, in progress or finished. Example: net-7. */
                lastRun?: string;
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the status describes. -1 until an operator
                 *     reconciles the Stack.
                 */
                observedGeneration?: number;
                /**
                 * @description Outputs are the outputs of the last apply, without sensitive and long ones. At most 64. Use spec.outputs
                 *     to receive all outputs.
                 */
                outputs?: {
                    [key: string]: unknown;
                };
                /**
                 * @description PlannedState is the version of the State that a user wrote, for example with cairn state push, and that
                 *     was then planned. Unset if a Run wrote the version that was last planned.
                 */
                plannedState?: {
                    /** @description Run is the name of the Run that plans the version. Example: net-7. */
                    run: string;
                    /**
                     * Format: int64
                     * @description Version is the version of the State. Example: 5.
                     */
                    version: number;
                };
                /**
                 * @description Release is the release of the stage of a Pipeline that selects the Stack. After the Pipeline is deleted, or does
                 *     not select the Stack any more, it stays until other inputs are applied: each plan waits for an approval
                 *     meanwhile. Unset if there is none.
                 */
                release?: {
                    /** @description Commit is the commit that the stage has. inputsDigest is that of the code of this commit. */
                    commit: string;
                    /** @description Pipeline is the name of the Pipeline, in the namespace of the Stack. */
                    pipeline: string;
                    /**
                     * Format: int64
                     * @description Promotion is that of the stage (status.stages[].promotion of the Pipeline).
                     */
                    promotion: number;
                    /** @description Stage is the name of the stage. */
                    stage: string;
                    /** @description UID of the Pipeline. */
                    uid: string;
                };
                /**
                 * @description ReservedRun is the newest name that Cairn reserved for a Run, and the purpose of that Run. Cairn writes
                 *     it before it creates the Run and keeps it after the Run is deleted. After a restart, Cairn therefore
                 *     knows whether it still has to create the Run.
                 */
                reservedRun?: {
                    /**
                     * @description Cause is the type of the cause. Manual is a Run that a user requested.
                     * @enum {string}
                     */
                    cause: "Spec" | "Variables" | "VariableSet" | "StackPolicy" | "Commit" | "Dependency" | "Drift" | "Deletion" | "Manual" | "PullRequest";
                    /** @description Name is the name of the Run. Example: net-7. */
                    name: string;
                    /**
                     * @description Operation is the operation of the Run.
                     * @enum {string}
                     */
                    operation: "Apply" | "Plan" | "Destroy" | "Shell";
                    /**
                     * Format: int64
                     * @description StateVersion is the version of the State that a user wrote, if the Run exists only to plan that version.
                     *     Example: 5.
                     */
                    stateVersion?: number;
                };
                /** @description Resources is the number of resources in the state, or unknown if the engine encrypts the state. */
                resources?: unknown;
                /**
                 * @description Retry is what a user who retries the Stack requests, with cairn retry or in the web UI. It is set from the
                 *     start of an apply or destroy until one succeeds or is superseded, and while the Stack is being deleted.
                 *     Retries of attempts within a Run are in its own status (spec.retry).
                 */
                retry?: {
                    /**
                     * @description Operation is the operation that the retry requests: Apply or Destroy. If spec.apply is Never, an apply only
                     *     plans.
                     * @enum {string}
                     */
                    operation: "Apply" | "Plan" | "Destroy" | "Shell";
                    /**
                     * @description Run is the name of the Run that is repeated: the newest one that was to change resources or to show what
                     *     would change, without drift checks, requested plans and shells. Unset if a Stack without such a Run is being
                     *     deleted. Example: net-7.
                     */
                    run?: string;
                };
                /**
                 * @description Revision is the revision of the source of inputsDigest: for git the ref and the commit, otherwise the
                 *     digest of the files. It changes only with commits that change this Stack; status.refs of the Repository
                 *     has the newest commit. Example: main@sha1:1f3c....
                 */
                revision?: string;
                /**
                 * @description Source is the source of the code of the last apply, or the first one that was read. While the source is
                 *     another one, a Run is caused by the user who changed it. Unset if the code is not from git.
                 */
                source?: {
                    /** @description DefaultRef is spec.ref of the Repository. Unset if ref is set. Example: main. */
                    defaultRef?: string;
                    /**
                     * @description Engine is spec.engine of the Repository as text. Unset if the Repository sets nothing. Example: Terraform
                     *     ~> 1.9.
                     */
                    engine?: string;
                    /** @description LFS is spec.lfs of the Repository. Default: false. */
                    lfs?: boolean;
                    /** @description Ref is spec.source.git.ref of the Stack. Unset if the Repository decides. Example: main. */
                    ref?: string;
                    /** @description Repository is the namespace and name of the Repository. Example: shop/infra. */
                    repository: string;
                    /** @description Submodules is spec.submodules of the Repository. Default: false. */
                    submodules?: boolean;
                    /** @description URL is spec.url of the Repository, as the code was fetched. Example: https://git.example.com/acme/infra.git. */
                    url: string;
                };
                /**
                 * @description StackPolicies are the StackPolicies that select the Stack, by name, with what comes from each. Unset if there is
                 *     none.
                 */
                stackPolicies?: {
                    /**
                     * Format: int64
                     * @description Generation is the generation of the StackPolicy. Example: 2.
                     */
                    generation?: number;
                    /** @description Name is the name of the StackPolicy. Example: prod. */
                    name: string;
                    /** @description Policies are the names of the ConfigMaps with policies that only the StackPolicy adds. Example: [rules]. */
                    policies?: string[];
                    /** @description UID is the UID of the StackPolicy. It distinguishes the StackPolicy from another one with the same name. */
                    uid?: string;
                    /**
                     * Format: int32
                     * @description Windows is the number of windows of the StackPolicy. Example: 1.
                     */
                    windows?: number;
                }[];
                /** @description Unapplied are the users who changed the inputs since they were applied. A Run has them in spec.causedBy. */
                unapplied?: {
                    /**
                     * @description Commit is the commit of the last apply, or the first one that was read. Later commits are not applied. Unset if
                     *     the code is not from git.
                     */
                    commit?: string;
                    /** @description Contributors are the users. The authors of commits are those of the newest Run. At most 50. */
                    contributors?: {
                        /**
                         * @description Kind is what the user did: Spec, Repository, State, Author, Committer or Request.
                         * @enum {string}
                         */
                        kind: "Spec" | "Repository" | "State" | "Author" | "Committer" | "Request";
                        /**
                         * @description Name is the name of the user, as the API server authenticates it. Of an author or committer it is the name and
                         *     e-mail address in the commit, which is not verified. Example: alice@example.com.
                         */
                        name: string;
                        /**
                         * @description Of is the newest change of the user: a generation of the spec, a commit, or a version of the State. Example:
                         *     1f3c2ab.
                         */
                        of?: string;
                        /**
                         * @description Users are the names under which the API server can know an author or committer, in lower case: the name, the
                         *     e-mail address, and its part before the @. Unset for other kinds. Example: [alice smith, alice@example.com,
                         *     alice].
                         */
                        users?: string[];
                    }[];
                    /**
                     * Format: int64
                     * @description Generation is the newest generation of the Stack whose user is known.
                     */
                    generation?: number;
                    /**
                     * @description InputsDigest is the digest of the inputs of the last apply that succeeded. When the inputs are the same again,
                     *     the changes are reverted and contributors is empty. Unset if no apply succeeded. Example: sha256:1f3c....
                     */
                    inputsDigest?: string;
                    /**
                     * Format: int64
                     * @description RepositoryGeneration is the newest generation of the Repository whose user is known.
                     */
                    repositoryGeneration?: number;
                    /** @description Unknown is why other users may have changed the inputs too. Unset if all are known. */
                    unknown?: string;
                };
                /**
                 * @description Units are the Terragrunt units that the code of this Stack depends on. The Stacks of these units are
                 *     dependencies, as in spec.dependsOn.
                 */
                units?: {
                    /**
                     * @description Outputs is true if the Stack reads outputs of the unit: a change of them then starts a Run. It is false
                     *     for a dependencies block and for skip_outputs = true.
                     */
                    outputs?: boolean;
                    /**
                     * @description Path is the directory of the unit, relative to the root of the repository; "." is the root. Example:
                     *     live/prod/vpc.
                     */
                    path: string;
                    /**
                     * @description Stacks are the Stacks that run the unit: those of the same namespace, Repository and ref with the
                     *     directory of the unit. If empty, the unit does not affect the order of Runs. At most 100, sorted by
                     *     name. Example: [vpc].
                     */
                    stacks?: string[];
                }[];
                /**
                 * @description VariableSets are the VariableSets that select the Stack, by name, with the names of the values that come from
                 *     each. Unset if there is none.
                 */
                variableSets?: {
                    /** @description Env are the names of the environment variables whose value comes from the VariableSet. Example: [AWS_REGION]. */
                    env?: string[];
                    /**
                     * Format: int64
                     * @description Generation is the generation of the VariableSet. Example: 2.
                     */
                    generation?: number;
                    /** @description Name is the name of the VariableSet. Example: prod. */
                    name: string;
                    /** @description UID is the UID of the VariableSet. It distinguishes the VariableSet from another one with the same name. */
                    uid?: string;
                    /**
                     * @description Variables are the names of the variables whose value comes from the VariableSet. Names that the Stack sets itself
                     *     are not listed. Example: [region].
                     */
                    variables?: string[];
                }[];
            };
        };
        /**
         * @description StackSet generates Stacks: one for each directory of a repository, or for each entry of a list, from one template.
         *     Deleting a StackSet deletes no Stack.
         */
        StackSet: {
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
            /** @description Spec declares which Stacks to generate. */
            spec: {
                /** @description Generators list items. Each item becomes a Stack. */
                generators: {
                    /** @description Directories are the directories of the Repository that contain a root module. */
                    directories?: {
                        /**
                         * @description Exclude are globs for paths of directories that are not items, whatever include matches.
                         *     Example: ["envs/*\/sandbox/**"].
                         */
                        exclude?: string[];
                        /**
                         * @description Include are patterns for the paths of directories. * and ? match within one name, ** matches any number of
                         *     directories, and {name} matches one name or the rest of it, and sets params.name. The first pattern that
                         *     matches a directory applies. Example: ["envs/{env}/{team}/{name}"].
                         */
                        include: string[];
                        /**
                         * @description Marker is a glob for the name of a file that a directory must contain. Example: backend.tf. Default: a file of
                         *     OpenTofu, Terraform or Terragrunt (*.tf, *.tofu, *.tf.json, *.tofu.json, terragrunt.hcl).
                         */
                        marker?: string;
                        /**
                         * @description SettingsFile is the name of a file in a directory with settings of its Stack: variables, variable files,
                         *     dependencies and triggers, which are added to those of the template. It can set nothing else: users who push to
                         *     the repository write it. A directory without the file has the template alone. Default: none. Example: cairn.yaml.
                         */
                        settingsFile?: string;
                    };
                    /** @description List contains the params of each item. Example: [{env: dev, replicas: 1}, {env: prod, replicas: 3}]. */
                    list?: Record<string, never>[];
                    /** @description Matrix combines each item of each entry with each item of the others. */
                    matrix?: {
                        /** @description Directories are the directories of the Repository that contain a root module. */
                        directories?: {
                            /**
                             * @description Exclude are globs for paths of directories that are not items, whatever include matches.
                             *     Example: ["envs/*\/sandbox/**"].
                             */
                            exclude?: string[];
                            /**
                             * @description Include are patterns for the paths of directories. * and ? match within one name, ** matches any number of
                             *     directories, and {name} matches one name or the rest of it, and sets params.name. The first pattern that
                             *     matches a directory applies. Example: ["envs/{env}/{team}/{name}"].
                             */
                            include: string[];
                            /**
                             * @description Marker is a glob for the name of a file that a directory must contain. Example: backend.tf. Default: a file of
                             *     OpenTofu, Terraform or Terragrunt (*.tf, *.tofu, *.tf.json, *.tofu.json, terragrunt.hcl).
                             */
                            marker?: string;
                            /**
                             * @description SettingsFile is the name of a file in a directory with settings of its Stack: variables, variable files,
                             *     dependencies and triggers, which are added to those of the template. It can set nothing else: users who push to
                             *     the repository write it. A directory without the file has the template alone. Default: none. Example: cairn.yaml.
                             */
                            settingsFile?: string;
                        };
                        /** @description List contains the params of each item. Example: [{env: dev, replicas: 1}, {env: prod, replicas: 3}]. */
                        list?: Record<string, never>[];
                    }[];
                    /**
                     * @description Terragrunt are the directories of the Repository with a Terragrunt unit. The Stack of a unit gets those of the
                     *     units that its dependency and dependencies blocks name in spec.dependsOn.
                     */
                    terragrunt?: {
                        /**
                         * @description Exclude are globs for paths of directories that are not items, whatever include matches. A unit that depends on
                         *     one of them gets no order. Example: ["live/sandbox/**"].
                         */
                        exclude?: string[];
                        /** @description Include are patterns for the paths of directories, as in directories. Example: ["live/{env}/{name}"]. */
                        include: string[];
                    };
                }[];
                /**
                 * @description Ignore are the fields of existing Stacks that users may change. The StackSet sets them when it creates a Stack,
                 *     and not afterwards. It restores all other fields of the template. Each is a path of field names.
                 *     Example: [spec.suspend].
                 */
                ignore?: string[];
                /**
                 * @description MaxDeletions is how many Stacks of this StackSet may disappear at once: a number, or a percentage of its Stacks.
                 *     If more do, it suspends and deletes none, and reports it. A percentage above 0% permits at least one. Default:
                 *     10%.
                 */
                maxDeletions?: number | string;
                /**
                 * Format: int32
                 * @description MaxStacks is how many Stacks are generated at most. If there are more items, nothing is written. Default: 1000.
                 * @default 1000
                 */
                maxStacks: number;
                /**
                 * @description Mode is Create or Preview. Preview writes nothing but the status, which lists what Create would do. Default:
                 *     Create.
                 * @default Create
                 * @enum {string}
                 */
                mode: "Create" | "Preview";
                /**
                 * @description Moved keeps a Stack when the name that the template has for its item changes: the Stack continues under its old
                 *     name, with its State. If both Stacks exist, nothing is written until a user deletes one of them or the entry.
                 */
                moved?: {
                    /** @description From is the name of the Stack; of one in another namespace NAMESPACE/NAME. */
                    from: string;
                    /**
                     * @description To is the name that the template has for the item now; in another namespace NAMESPACE/NAME. A Stack stays in its
                     *     namespace.
                     */
                    to: string;
                }[];
                /**
                 * @description Namespaces are the other namespaces in which template.metadata.namespace can place Stacks. Each needs a
                 *     StackGrant for StackSets of this namespace. The user who writes this StackSet needs the same verbs in each as in
                 *     its own namespace. Stacks in a namespace that is removed from the list, or whose StackGrant is deleted, stay as
                 *     they are and are not written any more. At most 10. Example: [shop-dev, shop-prod].
                 */
                namespaces?: string[];
                /**
                 * @description Prune is what happens with a Stack that is not generated any more. Keep suspends it. Delete suspends it too, and
                 *     deletes it once a user with the verb destroy has confirmed the exact list (cairn confirm-deletions); each
                 *     deletion is then subject to the deletionPolicy of the Stack, and a plan that destroys its resources waits for an
                 *     approval. Default: Keep.
                 * @default Keep
                 * @enum {string}
                 */
                prune: "Keep" | "Delete";
                /** @description Ref is the branch, tag or commit whose directories are listed. Default: spec.ref of the Repository. */
                ref?: string;
                /**
                 * @description Repository is the Repository whose directories are listed. Its spec.allowedNamespaces must include the namespace
                 *     of the StackSet. Required for directories.
                 */
                repository?: {
                    /** @description Name is the name of the Repository. */
                    name: string;
                    /**
                     * @description Namespace is the namespace of the Repository. Its spec.allowedNamespaces must include the namespace of
                     *     the Stack. Default: the namespace of the Stack.
                     */
                    namespace?: string;
                };
                /** @description Rollout limits how many Stacks get a changed template at once. */
                rollout?: {
                    /**
                     * Format: int32
                     * @description MaxConcurrent is how many Stacks may have the changed template without having applied it. Stacks that are
                     *     suspended, that never apply, or that have applied nothing yet do not count. Default: 10.
                     * @default 10
                     */
                    maxConcurrent: number;
                    /**
                     * @description Order contains a label selector for each group of Stacks, by the labels of the template. A group begins once all
                     *     Stacks of the groups before it have applied the changed template. It does not wait for Stacks that are suspended,
                     *     that never apply, or that have applied nothing yet. Stacks that no selector matches are last.
                     */
                    order?: {
                        /** @description matchExpressions is a list of label selector requirements. The requirements are ANDed. */
                        matchExpressions?: {
                            /** @description key is the label key that the selector applies to. */
                            key: string;
                            /**
                             * @description operator represents a key's relationship to a set of values.
                             *     Valid operators are In, NotIn, Exists and DoesNotExist.
                             */
                            operator: string;
                            /**
                             * @description values is an array of string values. If the operator is In or NotIn,
                             *     the values array must be non-empty. If the operator is Exists or DoesNotExist,
                             *     the values array must be empty. This array is replaced during a strategic
                             *     merge patch.
                             */
                            values?: string[];
                        }[];
                        /**
                         * @description matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels
                         *     map is equivalent to an element of matchExpressions, whose key field is "key", the
                         *     operator is "In", and the values array contains only "value". The requirements are ANDed.
                         */
                        matchLabels?: {
                            [key: string]: string;
                        };
                    }[];
                    /**
                     * Format: int32
                     * @description PauseAfterFailures is how many Stacks may fail with the changed template before it is given to no other Stack.
                     *     Default: 3.
                     * @default 3
                     */
                    pauseAfterFailures: number;
                };
                /**
                 * @description Template is what each Stack is created from. Its strings can contain CEL expressions in ${...} with the variables
                 *     params (the params of the item) and directory (the path of its directory). A string that is one expression gets
                 *     the type of its value. $${ stands for the text ${.
                 */
                template: {
                    /**
                     * @description Metadata contains the name, the labels and the annotations of the Stacks. They get the label cairn.dev/stackset
                     *     too, and cairn.dev/stackset-namespace in another namespace.
                     */
                    metadata: {
                        /** @description Annotations of the Stacks. Values can contain expressions. Annotations of cairn.dev are rejected. */
                        annotations?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Labels of the Stacks. Values can contain expressions: params of lists and, if the name of the label begins with
                         *     directory.cairn.dev/, also captures and the directory. Labels of cairn.dev are rejected. Example:
                         *     {directory.cairn.dev/env: "${params.env}"}.
                         */
                        labels?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Name is the name of each Stack. Different items must have different names. Example:
                         *     "${params.env}-${params.name}".
                         */
                        name: string;
                        /**
                         * @description Namespace is the namespace of each Stack: that of the StackSet, or one of spec.namespaces. Any other value is an
                         *     error. Default: the namespace of the StackSet. Example: "shop-${params.env}".
                         */
                        namespace?: string;
                    };
                    /** @description Spec is the spec of the Stacks. It has the fields of spec of a Stack; strings can contain expressions. */
                    spec: Record<string, never>;
                };
            };
            /**
             * @description Status reports what was generated. observedGeneration is -1 until an operator reconciles the StackSet.
             * @default {
             *       "observedGeneration": -1
             *     }
             */
            status: {
                /**
                 * Format: int32
                 * @description Applied is the number of Stacks that have applied the inputs of the current template.
                 * @default 0
                 */
                applied: number;
                /**
                 * Format: int32
                 * @description Changing is the number of Stacks that have the current template and have not applied it yet.
                 * @default 0
                 */
                changing: number;
                /** @description Conditions: Ready, and Stalled while it waits until a user acts. */
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
                /** @description Deletions are the Stacks that wait for a user who confirms that they are deleted. Only with prune Delete. */
                deletions?: {
                    /**
                     * Format: int32
                     * @description Count is the number of Stacks.
                     */
                    count: number;
                    /**
                     * @description Digest identifies the exact list of Stacks, by name and UID. The annotation cairn.dev/confirm-deletions confirms
                     *     it.
                     */
                    digest: string;
                    /** @description Names are the names of the first 20 Stacks; of those in other namespaces NAMESPACE/NAME. */
                    names: string[];
                };
                /**
                 * Format: int32
                 * @description Failed is the number of Stacks of changing that failed.
                 * @default 0
                 */
                failed: number;
                /**
                 * Format: int32
                 * @description Generated is the number of Stacks that the generators and the template result in.
                 * @default 0
                 */
                generated: number;
                /**
                 * Format: int32
                 * @description Gone is the number of Stacks of the StackSet that are not generated any more.
                 * @default 0
                 */
                gone: number;
                /**
                 * @description Groups are the groups of spec.rollout.order, in their order, and then the Stacks that no selector matches. Only
                 *     with an order.
                 */
                groups?: {
                    /**
                     * Format: int32
                     * @description Applied is the number of Stacks that have applied the inputs of the current template.
                     */
                    applied: number;
                    /**
                     * Format: int32
                     * @description Failed is the number of Stacks that failed with the current template.
                     */
                    failed: number;
                    /**
                     * Format: int32
                     * @description Generated is the number of Stacks that the generators and the template result in.
                     */
                    generated: number;
                    /** @description Name is the selector of the group, or "others" for the Stacks that no selector matches. Example: env=dev. */
                    name: string;
                }[];
                /**
                 * Format: int64
                 * @description ObservedGeneration is the generation of the spec that the status reports on.
                 */
                observedGeneration?: number;
                /**
                 * Format: int32
                 * @description Outdated is the number of Stacks that have an earlier template, or fields that differ from the template.
                 * @default 0
                 */
                outdated: number;
                /** @description Preview is what mode Create would do. Only in mode Preview. */
                preview?: {
                    change?: string[];
                    /**
                     * @description Create, Change and Suspend are the names of the first 20 Stacks that would be created, changed and suspended; of
                     *     those in other namespaces NAMESPACE/NAME.
                     */
                    create?: string[];
                    /** @description Samples are up to three of the Stacks, with metadata and spec. */
                    samples?: unknown[];
                    suspend?: string[];
                };
                /** @description Revision is the ref and the commit whose directories were listed. Example: main@sha1:1f3c…. */
                revision?: string;
            };
        };
        /**
         * @description State describes the Terraform state of a Stack: its versions and its lock. It has the name of the Stack. The
         *     content is in Secrets of type cairn.dev/state, or in the bucket; this object specifies which versions are valid.
         *     Only Cairn writes States.
         *
         *     State has no status subresource, so that Cairn can create and lock it in one write.
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
            /** @description Spec contains what Cairn needs if a backup tool restores the State without its status. */
            spec: {
                /**
                 * Format: int64
                 * @description Version is the number of the current version, as in the status. If the status has none, the status was lost:
                 *     Cairn plans nothing until a user restores the state. 0 before the first write.
                 */
                version?: number;
            };
            /** @description Status specifies which versions are valid and which client can write. */
            status?: {
                /**
                 * @description Backend is the backend of the engine that stores the state, as spec.backend of the Stack configures it.
                 *     Unset if Cairn stores the state.
                 */
                backend?: {
                    /**
                     * Format: int64
                     * @description Serial is the serial of the state in the backend.
                     */
                    serial?: number;
                    /** @description Type is the type of the backend. Example: s3. */
                    type: string;
                    /**
                     * Format: int64
                     * @description Version is the version of the State that the backend contains. 0 if the backend is empty. If the State
                     *     has a newer version, as after a rescue or a rollback, the next plan copies it to the backend.
                     */
                    version?: number;
                };
                /**
                 * @description InputsDigest is the digest of the inputs of the last apply that started, or of later inputs that needed
                 *     no change. A destroy uses these inputs. Example: sha256:1f3c....
                 */
                inputsDigest?: string;
                /** @description Lineage is the lineage of the state, as the engine sets it. Cairn rejects a state with another lineage. */
                lineage?: string;
                /**
                 * @description Lock is the lock of the state. An apply holds it, or the engine of a user on the user's machine. Unset
                 *     if the state is not locked.
                 */
                lock?: {
                    /**
                     * Format: int32
                     * @description Attempt is the number of the attempt of the Run.
                     */
                    attempt?: number;
                    /**
                     * @description By is the name of the user whose engine holds the lock, as the API server authenticates it. Cairn denies
                     *     writes by other users, and the lock does not expire. Unset if a Run holds the lock. Example:
                     *     alice@example.com.
                     */
                    by?: string;
                    /** @description ID is the lock ID that the engine generated. Every write must send it. */
                    id: string;
                    /** @description PodUID is the UID of the pod of the attempt. Cairn rejects writes from other pods. */
                    podUID?: string;
                    /** @description Run is the name of the Run that holds the lock. Unset if a user holds it. Example: net-7. */
                    run?: string;
                    /**
                     * Format: date-time
                     * @description Since is the time when the lock was acquired.
                     */
                    since: string;
                    /** @description Who is the holder of the lock as the engine reports it. Example: runner@net-7-plan-1. */
                    who?: string;
                };
                /**
                 * @description Move allows the next plan to copy the current version to the backend of the Stack, if that has no state
                 *     or an older one. Unset if no migration was requested.
                 */
                move?: {
                    /**
                     * Format: date-time
                     * @description At is the time of the request.
                     */
                    at: string;
                    /** @description By is the name of the user who requested the migration. Example: alice@example.com. */
                    by: string;
                    /**
                     * Format: int64
                     * @description Version is the version to copy. The permission ends when there is a newer version.
                     */
                    version: number;
                };
                /**
                 * @description Outputs contains a keyed hash of the value of each output in the current version, by name. Other Stacks
                 *     detect changes with it. The key is a secret of the installation, so the hashes do not reveal values. At
                 *     most 1,000.
                 */
                outputs?: {
                    [key: string]: string;
                };
                /**
                 * @description Rescued is a state that a runner could not write when its apply ended. Cairn accepts it as a version
                 *     before the next plan. If another version was written in the meantime, Cairn plans nothing until a user
                 *     merges both and runs cairn state push --force.
                 */
                rescued?: {
                    /**
                     * Format: date-time
                     * @description At is the time when the state was saved.
                     */
                    at: string;
                    /**
                     * Format: int32
                     * @description Attempt is the number of the attempt of the Run.
                     */
                    attempt: number;
                    /**
                     * @description Base is the SHA256 of the version that the attempt started from or last wrote. Unset if there was none.
                     *     Cairn accepts the rescued state only while this version is the current one.
                     */
                    base?: string;
                    /** @description Lineage is the lineage of the state, as the engine sets it. */
                    lineage: string;
                    /** @description Run is the name of the Run of the attempt. Example: net-7. */
                    run: string;
                    /**
                     * Format: int64
                     * @description Serial is the serial of the state, as the engine sets it.
                     */
                    serial: number;
                    /** @description SHA256 is the digest of the state, before encryption and compression. */
                    sha256: string;
                };
                /**
                 * @description Resources is the number of resource instances in the current version, without data sources, or unknown if the
                 *     engine encrypts the state.
                 */
                resources?: unknown;
                /**
                 * @description Revision is the revision of the code of the last apply that started. A new Stack with this State lists the users
                 *     of later commits. Unset if an older release of Cairn applied it. Example: main@sha1:1f3c....
                 */
                revision?: string;
                /**
                 * @description SelfApproval keeps spec.preventSelfApproval of the Stack. It remains when a user removes the rule from
                 *     the Stack, or deletes the Stack and creates it again, until an apply that another user approved. Unset
                 *     if the rule does not apply.
                 */
                selfApproval?: {
                    /**
                     * @description RemovedBy is the user who removed the rule from the Stack, or created the Stack without it. Unset while
                     *     the Stack has the rule. Example: alice@example.com.
                     */
                    removedBy?: string;
                };
                /**
                 * Format: int64
                 * @description Serial is the serial of the current version, as the engine sets it.
                 */
                serial?: number;
                /** @description SHA256 is the digest of the current version, before encryption and compression. Example: sha256:ab12.... */
                sha256?: string;
                /**
                 * Format: int64
                 * @description Size is the size of the current version in bytes, before compression.
                 */
                size?: number;
                /**
                 * @description StackUID is the UID of the Stack of the last apply that started. Unset if no apply of this state started,
                 *     as after a push or a plan that adopted the state of a backend. The first apply of any other Stack requires
                 *     an approval, and the deletion of any other Stack does not destroy the resources.
                 */
                stackUID?: string;
                /**
                 * @description UpdatedBy is the name of the Run that wrote the current version. Unset if a user wrote it: versions has
                 *     the name of the user. Example: net-7.
                 */
                updatedBy?: string;
                /**
                 * Format: int64
                 * @description Version is the number of the current version. Each accepted write increases it by one. 0 before the
                 *     first write.
                 */
                version?: number;
                /** @description Versions are the stored versions, oldest first. The last one is the current version. */
                versions?: {
                    /**
                     * Format: date-time
                     * @description At is the time when the version was written.
                     */
                    at: string;
                    /**
                     * Format: int32
                     * @description Attempt is the number of the attempt of the Run.
                     */
                    attempt?: number;
                    /** @description By is the name of the user who wrote the version. Unset if a Run wrote it. Example: alice@example.com. */
                    by?: string;
                    /**
                     * Format: int32
                     * @description Chunks is the number of Secrets that contain the version. They are named
                     *     <state>-state-v<version>-<digest>-<chunk>. Unset if the storage is Bucket.
                     */
                    chunks?: number;
                    /**
                     * Format: int32
                     * @description Resources is the number of resource instances in the version, without data sources; -1 if the engine encrypts
                     *     its state. Unset for a version that a release before this field wrote. Example: 12.
                     */
                    resources?: number;
                    /** @description Run is the name of the Run that wrote the version. Unset if a user wrote it. Example: net-7. */
                    run?: string;
                    /**
                     * Format: int64
                     * @description Serial is the serial of the version, as the engine sets it.
                     */
                    serial: number;
                    /** @description SHA256 is the digest of the version, before encryption and compression. */
                    sha256: string;
                    /**
                     * Format: int64
                     * @description Size is the size of the version in bytes, before compression.
                     */
                    size: number;
                    /**
                     * @description Storage is where the content is stored: Secret or Bucket. Example: Secret.
                     * @enum {string}
                     */
                    storage: "Secret" | "Bucket";
                    /**
                     * Format: int64
                     * @description Version is the number of the version. The first version has number 1.
                     */
                    version: number;
                }[];
            };
        };
        /**
         * @description VariableSet has variables and environment variables for all Stacks of its namespace that have certain labels. What a
         *     Stack sets itself takes precedence. A change plans each selected Stack, and a deletion destroys nothing by itself.
         */
        VariableSet: {
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
            /** @description Spec declares the values and the Stacks that get them. */
            spec: {
                /**
                 * @description Env are environment variables of the engine and its providers, as in spec.env of a Stack, which takes precedence.
                 *     They take precedence over spec.envFrom. At most 100. Example: [{name: AWS_REGION, value: eu-west-1}].
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
                /**
                 * @description StackSelector selects Stacks of the namespace by their labels. {} selects all of them. Users who push to the
                 *     repository of a StackSet choose the values of labels whose names begin with directory.cairn.dev/, and of no
                 *     others. Example: {matchLabels: {env: prod}}.
                 */
                stackSelector: {
                    /** @description matchExpressions is a list of label selector requirements. The requirements are ANDed. */
                    matchExpressions?: {
                        /** @description key is the label key that the selector applies to. */
                        key: string;
                        /**
                         * @description operator represents a key's relationship to a set of values.
                         *     Valid operators are In, NotIn, Exists and DoesNotExist.
                         */
                        operator: string;
                        /**
                         * @description values is an array of string values. If the operator is In or NotIn,
                         *     the values array must be non-empty. If the operator is Exists or DoesNotExist,
                         *     the values array must be empty. This array is replaced during a strategic
                         *     merge patch.
                         */
                        values?: string[];
                    }[];
                    /**
                     * @description matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels
                     *     map is equivalent to an element of matchExpressions, whose key field is "key", the
                     *     operator is "In", and the values array contains only "value". The requirements are ANDed.
                     */
                    matchLabels?: {
                        [key: string]: string;
                    };
                };
                /**
                 * @description Variables are the values of input variables of the code, as in spec.variables of a Stack, which takes precedence.
                 *     They take precedence over spec.variableFiles. The code of each selected Stack must declare them. valueFrom.stack
                 *     is not supported. If two VariableSets have the same name for a Stack that does not set it, the Stack starts no
                 *     Run. At most 100. Example: [{name: region, value: eu-west-1}].
                 */
                variables?: {
                    /** @description Name is the name of the variable as the code declares it. */
                    name: string;
                    /**
                     * @description Value is the value of the variable, of any JSON type. The Stack stores it in plain text: use valueFrom
                     *     for secrets. Examples: 3, "eu-west-1", {zones: [a, b]}.
                     */
                    value?: unknown;
                    /**
                     * @description ValueFrom is the source of the value. Keys of Secrets and ConfigMaps are strings; outputs of Stacks keep
                     *     their type.
                     */
                    valueFrom?: {
                        /** @description ConfigMap is a key of a ConfigMap in the namespace of the Stack. Example: {name: settings, key: region}. */
                        configMap?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /**
                         * @description Secret is a key of a Secret in the namespace of the Stack. The value never appears in logs or status.
                         *     Example: {name: db, key: password}.
                         */
                        secret?: {
                            /** @description Key is the key within data of the object. */
                            key: string;
                            /** @description Name is the name of the object. */
                            name: string;
                        };
                        /**
                         * @description Stack is an output of another Stack. The other Stack becomes a dependency, as in dependsOn. A change of
                         *     this output starts a Run; changes of other outputs do not. Sensitive outputs stay sensitive. Example:
                         *     {name: net, output: vpc_id}.
                         */
                        stack?: {
                            /** @description Name is the name of the Stack. */
                            name: string;
                            /**
                             * @description Namespace is the namespace of the Stack. Another one than that of this Stack requires a StackGrant there.
                             *     Default: the namespace of this Stack. Example: network.
                             */
                            namespace?: string;
                            /** @description Output is the name of the output in the code of that Stack. */
                            output: string;
                        };
                    };
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
            ownerReferences?: {
                uid: string;
            }[];
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
