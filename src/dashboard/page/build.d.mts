/** The text of src/dashboard/page.generated.ts. */
export function generatedPage(): Promise<string>
