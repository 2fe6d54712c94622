import type { ColumnDef } from '@tanstack/react-table'
import { flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import { useNarrow } from '../ui/media'

/** A table of few rows, all of which are there. On a phone rows are cards. */
export function SmallTable<R>({
  label,
  rows,
  columns,
  card,
  id,
}: {
  label: string
  rows: R[]
  columns: ColumnDef<R>[]
  card: (row: R) => ReactNode
  id: (row: R) => string
}) {
  const narrow = useNarrow()
  const table = useReactTable({ data: rows, columns, getCoreRowModel: getCoreRowModel(), getRowId: id })
  if (narrow) {
    return (
      <ul aria-label={label} className="divide-line divide-y">
        {rows.map((r) => (
          <li key={id(r)} className="hover:bg-hover relative flex flex-col gap-1 p-3">
            {card(r)}
          </li>
        ))}
      </ul>
    )
  }
  return (
    <div className="overflow-x-auto">
      <table aria-label={label} className="w-full text-left">
        <thead className="text-muted text-sm">
          {table.getHeaderGroups().map((g) => (
            <tr key={g.id}>
              {g.headers.map((h) => (
                <th key={h.id} scope="col" className="h-9 px-3 font-normal whitespace-nowrap">
                  {flexRender(h.column.columnDef.header, h.getContext())}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className="border-line hover:bg-hover focus-within:bg-chosen relative h-9 border-t">
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id} className="max-w-96 truncate px-3">
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
