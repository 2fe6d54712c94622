/** The style of a link that covers its whole row. */
export const rowLink = 'font-medium outline-offset-2 after:absolute after:inset-0'

/** The name of an object, and before it that of its namespace. */
export function Named({ of }: { of: { namespace: string; name: string } }) {
  return (
    <>
      <span className="text-muted font-normal">{of.namespace}/</span>
      {of.name}
    </>
  )
}
