const collator = new Intl.Collator('en', { numeric: true })

/** Compares texts with their numbers by value: item[2] is before item[10]. */
export const natural = (a: string, b: string): number => collator.compare(a, b)
