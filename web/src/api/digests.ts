/* Written by `make generate` from internal/lifecycle/approval. */

/** How many hexadecimal digits of its digest name a plan. No other plan can be given the same ones. */
export const shortDigest = 40
