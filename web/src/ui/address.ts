/** Returns an address that may be a link: of http or https. Any other, such as `javascript:`, is undefined. */
export function webAddress(address: string | undefined): string | undefined {
  if (!address || !URL.canParse(address)) return undefined
  const { protocol, href } = new URL(address)
  return protocol === 'http:' || protocol === 'https:' ? href : undefined
}
