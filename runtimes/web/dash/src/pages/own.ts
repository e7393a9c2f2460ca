export async function own(_main: HTMLElement, _model: string, _on: string): Promise<void> {}
